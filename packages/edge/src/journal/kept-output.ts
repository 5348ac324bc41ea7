import {
  closeSync,
  mkdirSync,
  openSync,
  read as readCallback,
  readFileSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs';
import { dirname } from 'node:path';
import { promisify } from 'node:util';
import type { DescriptorCache } from './descriptor-cache.ts';

const read = promisify(readCallback);

/** Output up to this size is held in memory (the guest still has it) and ends up inside the exec's last journal record. */
export const INLINE_BYTES = 4096;

/** Shared by all commands of a sandbox: what may still be kept on file. */
export type OutputBudget = { leftBytes: number };

const UNLIMITED: OutputBudget = { leftBytes: Number.POSITIVE_INFINITY };

/**
 * The part of one output stream that is kept: its first `limit` bytes. Small output stays in memory until the command ends; more goes to
 * a file, and only what is on file may be acknowledged to the guest.
 */
export class KeptOutput {
  readonly #path: string;
  readonly #files: DescriptorCache;
  readonly #budget: OutputBudget;
  #limit: number;
  #inline: Buffer | null = null;
  #fileBytes = 0;
  #spilled = false;

  constructor(path: string, files: DescriptorCache, limit: number, budget: OutputBudget = UNLIMITED) {
    this.#budget = budget;
    this.#path = path;
    this.#files = files;
    this.#limit = limit;
  }

  /** Goes on with what a former process of ours left on file. */
  static resume(path: string, files: DescriptorCache, limit: number, budget: OutputBudget = UNLIMITED): KeptOutput {
    const kept = new KeptOutput(path, files, limit, budget);
    const size = statSync(path, { throwIfNoEntry: false })?.size;
    if (size !== undefined) {
      kept.#spilled = true;
      kept.#fileBytes = size;
      budget.leftBytes -= size;
    }
    return kept;
  }

  /** What an ended command's journal record holds. */
  static ended(path: string, files: DescriptorCache, size: number, inline: Buffer | null): KeptOutput {
    const kept = new KeptOutput(path, files, size);
    kept.#inline = inline;
    kept.#spilled = inline === null && size > 0;
    kept.#fileBytes = kept.#spilled ? size : 0;
    return kept;
  }

  /** Bytes that are kept. */
  get size(): number {
    return this.#spilled ? this.#fileBytes : (this.#inline?.length ?? 0);
  }

  /** Bytes that would survive the death of this process. */
  get durable(): number {
    return this.#fileBytes;
  }

  /** Is there room for more? */
  get full(): boolean {
    return this.size >= this.#limit;
  }

  /** The whole content while it is small. */
  get inline(): Buffer | null {
    return this.#spilled ? null : (this.#inline ?? Buffer.alloc(0));
  }

  /** Keeps what still fits and returns how many bytes that was. Never throws: a full disk ends the keeping. */
  append(chunk: Uint8Array): number {
    const count = Math.min(chunk.length, this.#limit - this.size);
    if (count <= 0) return 0;
    const part = count === chunk.length ? chunk : chunk.subarray(0, count);
    if (!this.#spilled && this.size + count <= INLINE_BYTES) {
      this.#inline = this.#inline ? Buffer.concat([this.#inline, part]) : Buffer.from(part);
      return count;
    }
    if (!this.spill()) return 0;
    return this.#write(part);
  }

  /** Moves what is in memory to the file. False when the disk does not take it. */
  spill(): boolean {
    if (this.#spilled) return true;
    this.#spilled = true;
    const held = this.#inline;
    this.#inline = null;
    return held === null || this.#write(held) === held.length;
  }

  /** Up to `max` bytes from `offset` (which must be below size). */
  async read(offset: number, max: number): Promise<Buffer> {
    if (!this.#spilled) return (this.#inline ?? Buffer.alloc(0)).subarray(offset, offset + max);
    const length = Math.min(max, this.#fileBytes - offset);
    const fd = openSync(this.#path, 'r');
    try {
      const buffer = Buffer.allocUnsafe(length);
      const { bytesRead } = await read(fd, buffer, 0, length, offset);
      return buffer.subarray(0, bytesRead);
    } finally {
      closeSync(fd);
    }
  }

  /** Everything at once, synchronously: for digests after a restart and for unary results. */
  readAll(): Buffer {
    if (!this.#spilled) return this.#inline ?? Buffer.alloc(0);
    if (this.#fileBytes === 0) return Buffer.alloc(0);
    return readFileSync(this.#path).subarray(0, this.#fileBytes);
  }

  /** No more will come: the descriptor can go. */
  finish(): void {
    if (this.#spilled) this.#files.drop(this.#path);
  }

  remove(): void {
    this.finish();
    rmSync(this.#path, { force: true });
  }

  #write(whole: Uint8Array): number {
    const part =
      whole.length <= this.#budget.leftBytes ? whole : whole.subarray(0, Math.max(0, this.#budget.leftBytes));
    if (part.length < whole.length) this.#limit = this.#fileBytes + part.length;
    let done = 0;
    try {
      const fd = this.#descriptor();
      while (done < part.length) done += writeSync(fd, part, done);
    } catch {
      this.#limit = this.#fileBytes + done;
    }
    this.#fileBytes += done;
    this.#budget.leftBytes -= done;
    return done;
  }

  #descriptor(): number {
    try {
      return this.#files.get(this.#path);
    } catch {
      mkdirSync(dirname(this.#path), { recursive: true, mode: 0o700 });
      return this.#files.get(this.#path);
    }
  }
}
