import { createHash, hash as digest, type Hash } from 'node:crypto';
import type { StreamSummary } from '@vivarium/protocol';
import type { KeptOutput } from '../journal/kept-output.ts';
import { OutputReader, type ReaderHandlers } from './output-reader.ts';

/** What the guest may send before it hears of us again: little for the many quiet commands, much for the few fast ones. */
const SMALL_WINDOW_BYTES = 64 * 1024;
const LARGE_WINDOW_BYTES = 1024 * 1024;
/** From this much output on a command counts as a fast one. */
const FAST_BYTES = 128 * 1024;

export type Grant = (offset: number, limit: number) => void;

/**
 * One output stream of a running command: keeps, hashes and counts what arrives, hands it to every attached reader, and tells the guest
 * what it may forget: bytes that are on file (or beyond what is kept) and that every attached reader has taken. A slow reader therefore
 * makes the writer wait; one that goes away does not.
 */
export class OutputChannel {
  readonly kept: KeptOutput;
  readonly #grant: Grant;
  readonly #readers = new Set<OutputReader>();
  #hash: Hash | null = null;
  /** False when bytes went by that the hash has not seen (a restart beyond the kept part). */
  #hashWhole = true;
  #received = 0;
  #acked = 0;
  #granted = SMALL_WINDOW_BYTES;
  #ended = false;

  constructor(kept: KeptOutput, grant: Grant) {
    this.kept = kept;
    this.#grant = grant;
  }

  /** Goes on after a restart of the edge: `base` is what the guest has forgotten. Returns the offset from which the guest is to send. */
  resume(base: number): number {
    const from = Math.max(this.kept.size, base);
    if (this.kept.size > 0) this.#hash = createHash('sha256').update(this.kept.readAll());
    this.#hashWhole = this.kept.size >= base;
    this.#received = from;
    this.#acked = from;
    this.#granted = from + SMALL_WINDOW_BYTES;
    return from;
  }

  get received(): number {
    return this.#received;
  }

  get ended(): boolean {
    return this.#ended;
  }

  /** Takes the next bytes. The chunk must not change afterwards: readers may still be at it (a socket gives a fresh buffer per read). */
  push(chunk: Uint8Array): void {
    const offset = this.#received;
    const before = this.kept.size;
    if (offset === before) this.kept.append(chunk);
    this.#received = offset + chunk.length;
    this.#update(chunk, offset);
    for (const reader of this.#readers) reader.push(offset, chunk);
    this.settle();
  }

  /** No more bytes will come. */
  end(): void {
    if (this.#ended) return;
    this.#ended = true;
    for (const reader of this.#readers) reader.wake();
  }

  /** Attaches a reader from an absolute offset; what is no longer kept is reported as a gap. */
  attach(offset: number, handlers: ReaderHandlers): OutputReader {
    const reader = new OutputReader(this, Math.min(offset, this.#received), {
      ...handlers,
      onClose: () => {
        this.#readers.delete(reader);
        this.settle();
        handlers.onClose?.();
      },
    });
    this.#readers.add(reader);
    reader.wake();
    return reader;
  }

  /** Tells the guest how far it may forget and send, when that is worth a message. */
  settle(): void {
    if (this.#ended) return;
    let safe = this.#safeOnFile();
    for (const reader of this.#readers) safe = Math.min(safe, reader.taken);
    const window = this.#received >= FAST_BYTES ? LARGE_WINDOW_BYTES : SMALL_WINDOW_BYTES;
    const limit = Math.max(this.#granted, safe + window);
    const starving = this.#granted - this.#received < window / 4;
    if (safe - this.#acked < window / 4 && !(starving && limit - this.#granted >= window / 4)) return;
    this.#acked = Math.max(this.#acked, safe);
    this.#granted = limit;
    this.#grant(this.#acked, limit);
  }

  summary(running: boolean): StreamSummary {
    const keptBytes = this.kept.size;
    return {
      bytes: this.#received,
      keptBytes,
      truncated: keptBytes < this.#received,
      sha256: running ? null : this.#digest(),
    };
  }

  #safeOnFile(): number {
    if (this.#received <= this.kept.size) return this.kept.durable;
    // Bytes beyond the kept part are about to be forgotten, so the kept part must be on file first.
    this.kept.spill();
    return this.#received;
  }

  #update(chunk: Uint8Array, offset: number): void {
    if (this.#hash) this.#hash.update(chunk);
    else if (this.kept.inline === null || this.#received > this.kept.size) {
      const held = offset > 0 ? this.kept.readAll().subarray(0, offset) : null;
      this.#hash = createHash('sha256');
      if (held) this.#hash.update(held);
      this.#hash.update(chunk);
    }
  }

  #digest(): string | null {
    if (!this.#hashWhole) return null;
    return this.#hash ? this.#hash.copy().digest('hex') : digest('sha256', this.kept.inline ?? Buffer.alloc(0), 'hex');
  }
}
