import { copyFileSync, ftruncateSync, mkdirSync, truncateSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { type ChainHead, type Clock, chainRecord, EMPTY_CHAIN, isoTime } from '@vivarium/core';
import { type JournalRecord, VivError } from '@vivarium/protocol';
import type { DescriptorCache } from './descriptor-cache.ts';
import { readRecords, scanRecords } from './journal-file.ts';

type Content = { type: JournalRecord['type']; data: Record<string, unknown>; exec?: string };

/**
 * The trajectory of one sandbox: one JSON line per record in `<dir>/journal.jsonl`, hash-chained in one total order. A record is on file
 * when append returns (it survives the death of our process; not a power cut).
 */
export class Journal {
  readonly dir: string;
  readonly path: string;
  readonly #clock: Clock;
  readonly #files: DescriptorCache;
  readonly #followers = new Set<() => void>();
  #head: ChainHead = EMPTY_CHAIN;
  #bytes = 0;
  #closed = false;

  private constructor(dir: string, clock: Clock, files: DescriptorCache) {
    this.dir = dir;
    this.path = journalPath(dir);
    this.#clock = clock;
    this.#files = files;
  }

  /** A new, empty one. */
  static create(dir: string, clock: Clock, files: DescriptorCache): Journal {
    try {
      mkdirSync(dir, { recursive: true, mode: 0o700 });
    } catch (error) {
      throw diskError(error, dir);
    }
    return new Journal(dir, clock, files);
  }

  /**
   * Goes on with one from before a restart. What follows the last sound record (a line that was torn when the process died) is
   * cut off; the file as it was stays beside it as `journal.jsonl.damaged`.
   */
  static load(dir: string, clock: Clock, files: DescriptorCache, onRecord: (record: JournalRecord) => void): Journal {
    const journal = Journal.create(dir, clock, files);
    const { goodBytes, totalBytes } = scanRecords(journal.path, (record) => {
      journal.#head = { seq: record.seq, hash: record.hash };
      onRecord(record);
    });
    if (goodBytes < totalBytes) {
      copyFileSync(journal.path, `${journal.path}.damaged`);
      truncateSync(journal.path, goodBytes);
    }
    journal.#bytes = goodBytes;
    return journal;
  }

  /** Sequence number of the last record, -1 when empty. */
  get lastSeq(): number {
    return this.#head.seq;
  }

  get bytes(): number {
    return this.#bytes;
  }

  get closed(): boolean {
    return this.#closed;
  }

  /** Writes one record. Throws `node_disk_full` with nothing written when the disk is full. */
  append(content: Content): JournalRecord {
    const at = isoTime(this.#clock.now());
    const { type, exec, data } = content;
    const record = chainRecord({ seq: this.#head.seq + 1, at, type, ...(exec ? { exec } : {}), data }, this.#head.hash);
    this.#write(Buffer.from(`${JSON.stringify(record)}\n`));
    this.#head = { seq: record.seq, hash: record.hash };
    for (const wake of this.#followers) wake();
    return record;
  }

  /** Records after `after`, at most `limit`. */
  async read(after: number, limit: number): Promise<JournalRecord[]> {
    return readPage(this.path, after, limit);
  }

  /** Records after `after`, then those to come, until the journal closes or the signal aborts. A slow reader reads from the file. */
  async *follow(after: number, signal: AbortSignal): AsyncGenerator<JournalRecord> {
    let seen = after;
    while (!signal.aborted) {
      const closed = this.#closed;
      if (this.#head.seq > seen) {
        for await (const record of readRecords(this.path, seen)) {
          if (signal.aborted) return;
          seen = record.seq;
          yield record;
        }
      } else if (closed) return;
      else await this.#changed(signal);
    }
  }

  /** No more records will come: followers end. */
  close(): void {
    this.#closed = true;
    this.#files.drop(this.path);
    for (const wake of this.#followers) wake();
  }

  #changed(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const wake = () => {
        this.#followers.delete(wake);
        signal.removeEventListener('abort', wake);
        resolve();
      };
      this.#followers.add(wake);
      signal.addEventListener('abort', wake);
    });
  }

  #write(line: Buffer): void {
    let fd: number | undefined;
    try {
      fd = this.#files.get(this.path);
      for (let done = 0; done < line.length; ) done += writeSync(fd, line, done);
      this.#bytes += line.length;
    } catch (error) {
      if (fd !== undefined) ftruncateSync(fd, this.#bytes);
      throw diskError(error, this.path);
    }
  }
}

export function journalPath(dir: string): string {
  return join(dir, 'journal.jsonl');
}

/** A page of a journal that nobody has open. */
export async function readPage(path: string, after: number, limit: number): Promise<JournalRecord[]> {
  const records: JournalRecord[] = [];
  if (limit <= 0) return records;
  for await (const record of readRecords(path, after)) {
    records.push(record);
    if (records.length >= limit) break;
  }
  return records;
}

/** "Insertion failed because database is full" (sqlite.org/rescode.html). */
const SQLITE_FULL = 13;

/** ENOSPC and friends as `node_disk_full`; anything else as `internal`. */
export function diskError(error: unknown, path: string): VivError {
  const { code, errcode } = error as NodeJS.ErrnoException & { errcode?: number };
  if (code === 'ENOSPC' || code === 'EDQUOT' || errcode === SQLITE_FULL)
    return new VivError('node_disk_full', `no space left to write ${path}`, { cause: error });
  return new VivError('internal', `writing ${path} failed: ${code ?? error}`, { cause: error });
}
