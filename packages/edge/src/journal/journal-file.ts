import { closeSync, openSync, read as readCallback, readSync } from 'node:fs';
import { promisify } from 'node:util';
import { type JournalRecord, VivError } from '@vivarium/protocol';

const read = promisify(readCallback);
const BLOCK_BYTES = 256 * 1024;
const NEWLINE = 10;

/**
 * Reads a journal's records with a sequence number above `after`, in order. The record with number n is line n of the file, so earlier
 * ones are skipped without parsing. A last line without its newline is not there (yet).
 */
export async function* readRecords(path: string, after = -1): AsyncGenerator<JournalRecord> {
  let line = 0;
  for await (const chunk of readBlocks(path)) {
    let start = 0;
    for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, start)) {
      if (line > after) yield parseRecord(chunk.subarray(start, end), path, line);
      line += 1;
      start = end + 1;
    }
  }
}

/** Blocks that end at a line's end. */
async function* readBlocks(path: string): AsyncGenerator<Buffer> {
  let fd: number;
  try {
    fd = openSync(path, 'r');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return;
    throw error;
  }
  try {
    let rest: Buffer = Buffer.alloc(0);
    for (;;) {
      const block = Buffer.allocUnsafe(BLOCK_BYTES);
      const { bytesRead } = await read(fd, block, 0, BLOCK_BYTES, null);
      if (bytesRead === 0) return;
      const data = rest.length ? Buffer.concat([rest, block.subarray(0, bytesRead)]) : block.subarray(0, bytesRead);
      const cut = data.lastIndexOf(NEWLINE) + 1;
      if (cut > 0) yield data.subarray(0, cut);
      rest = data.subarray(cut);
    }
  } finally {
    closeSync(fd);
  }
}

function parseRecord(line: Buffer, path: string, number: number): JournalRecord {
  try {
    const record = JSON.parse(line.toString()) as JournalRecord;
    if (record.seq === number) return record;
  } catch {
    // reported below
  }
  throw new VivError('internal', `journal ${path} is damaged at line ${number + 1}`, { details: { line: number + 1 } });
}

/** Reads a whole journal synchronously (adoption), calling back per record, and tells how many bytes of it are sound. */
export function scanRecords(
  path: string,
  onRecord: (record: JournalRecord) => void,
): { goodBytes: number; totalBytes: number } {
  let fd: number;
  try {
    fd = openSync(path, 'r');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return { goodBytes: 0, totalBytes: 0 };
    throw error;
  }
  try {
    let rest: Buffer = Buffer.alloc(0);
    let good = 0;
    let total = 0;
    let line = 0;
    let sound = true;
    for (;;) {
      const block = Buffer.allocUnsafe(BLOCK_BYTES);
      const count = readSync(fd, block, 0, BLOCK_BYTES, null);
      if (count === 0) return { goodBytes: good, totalBytes: total };
      total += count;
      if (!sound) continue;
      const data = rest.length ? Buffer.concat([rest, block.subarray(0, count)]) : block.subarray(0, count);
      let start = 0;
      for (let end = data.indexOf(NEWLINE); sound && end >= 0; end = data.indexOf(NEWLINE, start)) {
        try {
          onRecord(parseRecord(data.subarray(start, end), path, line));
        } catch {
          sound = false;
          break;
        }
        line += 1;
        good += end + 1 - start;
        start = end + 1;
      }
      rest = data.subarray(start);
    }
  } finally {
    closeSync(fd);
  }
}
