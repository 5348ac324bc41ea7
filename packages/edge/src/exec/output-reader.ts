import type { KeptOutput } from '../journal/kept-output.ts';

/** Read from the kept part at once. */
const READ_BYTES = 256 * 1024;

export type ReaderHandlers = {
  /** In order. The promise it returns is the back-pressure; the chunk is valid only until then. A throw ends the reading. */
  onData(offset: number, chunk: Uint8Array): void | Promise<void>;
  onGap(from: number, to: number): void;
  onClose?: () => void;
};

/** Where a reader reads from. */
export interface OutputSource {
  readonly kept: KeptOutput;
  readonly received: number;
  readonly ended: boolean;
  /** The reader has taken more. */
  settle(): void;
}

type Queued = { offset: number; chunk: Uint8Array };

/**
 * One attached client's way through an output stream: first what is kept, from the file, then live. Live bytes wait in a queue that the
 * guest's credit bounds: the channel acknowledges nothing that a reader has not taken.
 */
export class OutputReader {
  readonly #source: OutputSource;
  readonly #handlers: ReaderHandlers;
  readonly #queue: Queued[] = [];
  #position: number;
  #pumping = false;
  #closed = false;
  #finish!: () => void;
  /** Resolves when the stream ended and everything was taken, or on close. */
  readonly done: Promise<void> = new Promise((resolve) => {
    this.#finish = resolve;
  });

  constructor(source: OutputSource, position: number, handlers: ReaderHandlers) {
    this.#source = source;
    this.#handlers = handlers;
    this.#position = position;
  }

  /** Below this offset nothing needs to be sent again for this reader's sake. */
  get taken(): number {
    return this.#queue[0]?.offset ?? this.#source.received;
  }

  /** Live bytes, kept by reference until taken. Those that can be read from the file later are not queued while the reader is behind. */
  push(offset: number, chunk: Uint8Array): void {
    if (this.#closed) return;
    const live = this.#queue.length > 0 || this.#position === offset;
    if (live && !this.#pumping) return this.#giveNow(offset, chunk);
    if (live) this.#queue.push({ offset, chunk });
    else {
      const from = Math.max(offset, this.#source.kept.size);
      if (from < offset + chunk.length) this.#queue.push({ offset: from, chunk: chunk.subarray(from - offset) });
    }
    this.wake();
  }

  /** Looks whether there is something to do. */
  wake(): void {
    if (!this.#pumping && !this.#closed) void this.#pump();
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#queue.length = 0;
    this.#finish();
    this.#handlers.onClose?.();
  }

  /** The fast path: the reader waits for this very chunk. One that takes it at once costs no promise. */
  #giveNow(offset: number, chunk: Uint8Array): void {
    this.#pumping = true;
    this.#queue.push({ offset, chunk });
    try {
      const taken = this.#handlers.onData(offset, chunk);
      if (taken) return void this.#pump(taken);
      if (!this.#closed) this.#tookFirst();
      this.#pumping = false;
    } catch {
      this.#pumping = false;
      this.close();
    }
  }

  #tookFirst(): void {
    const { offset, chunk } = this.#queue.shift()!;
    this.#position = offset + chunk.length;
  }

  /** Gives what there is, one chunk after the other; `first` is the first in the queue, which the reader is taking already. */
  async #pump(first?: Promise<void>): Promise<void> {
    this.#pumping = true;
    try {
      if (first) {
        await first;
        if (!this.#closed) this.#tookFirst();
        this.#source.settle();
      }
      while (!this.#closed && (await this.#step()));
    } catch {
      this.close();
    }
    this.#pumping = false;
    if (this.#source.ended && !this.#closed && this.#position >= this.#source.received && this.#queue.length === 0)
      this.close();
  }

  /** Gives one chunk; false when there is none now. */
  async #step(): Promise<boolean> {
    const { kept, received } = this.#source;
    const first = this.#queue[0];
    if (first && first.offset <= this.#position) {
      const taken = this.#handlers.onData(first.offset, first.chunk);
      if (taken) await taken;
      if (this.#closed) return false;
      this.#tookFirst();
      this.#source.settle();
      return true;
    }
    if (this.#position < kept.size) {
      const chunk = await kept.read(
        this.#position,
        Math.min(READ_BYTES, (first?.offset ?? kept.size) - this.#position),
      );
      await this.#handlers.onData(this.#position, chunk);
      this.#position += chunk.length;
      return chunk.length > 0;
    }
    const next = first?.offset ?? received;
    if (this.#position >= next) return false;
    this.#handlers.onGap(this.#position, next);
    this.#position = next;
    return true;
  }
}
