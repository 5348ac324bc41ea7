import type { ProcessExit, ProcessHandlers } from './cell-process.ts';
import type { GuestFailure } from './failure.ts';

/** Tells the owner of a process what happens to it. How it ended is kept until there is an owner. */
export class ProcessEvents {
  #handlers: ProcessHandlers | null;
  #exit: ProcessExit | null = null;
  #failure: GuestFailure | null = null;

  /** null: nobody owns it yet. */
  constructor(handlers: ProcessHandlers | null) {
    this.#handlers = handlers;
  }

  get claimed(): boolean {
    return this.#handlers !== null;
  }

  /** A failure that came before there was an owner. */
  get untoldFailure(): GuestFailure | null {
    return this.#failure;
  }

  claim(handlers: ProcessHandlers): void {
    this.#handlers = handlers;
  }

  /** Tells the new owner what happened before. */
  catchUp(): void {
    const exit = this.#exit;
    const failure = this.#failure;
    this.#exit = null;
    this.#failure = null;
    if (failure !== null) this.#handlers?.onFail(failure);
    else if (exit !== null) this.#handlers?.onExit(exit);
  }

  data(chan: 1 | 2, offset: number, bytes: Buffer): void {
    this.#handlers?.onData(chan, offset, bytes);
  }

  eof(chan: 1 | 2, final: number): void {
    this.#handlers?.onEof(chan, final);
  }

  exited(exit: ProcessExit): void {
    if (this.#handlers === null) this.#exit = exit;
    else this.#handlers.onExit(exit);
  }

  failed(failure: GuestFailure): void {
    if (this.#handlers === null) this.#failure = failure;
    else this.#handlers.onFail(failure);
  }

  /** Nobody is told anything any more. */
  silence(): void {
    this.#handlers = null;
    this.#exit = null;
    this.#failure = null;
  }
}
