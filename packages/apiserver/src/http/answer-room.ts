import type { ServerResponse } from 'node:http';

const MIB = 1_048_576;
/** Answers with less output than this are not counted. */
const SMALL_BYTES = MIB;
/** Nothing moves on a counted answer for this long: it is cut, so that it does not keep the others waiting. */
const IDLE_MS = 30_000;

/**
 * Unary results hold their output whole in memory, some four times over, until the client has read them. All large ones together get
 * this much output; those beyond wait in order until others are read or cut.
 */
export class AnswerRoom {
  readonly #maxBytes: number;
  readonly #waiting: (() => void)[] = [];
  #held = 0;

  constructor(maxBytes = 192 * MIB) {
    this.#maxBytes = maxBytes;
  }

  /** Held until the response is finished or its client is gone. One that is larger than all there is goes alone. */
  async take(bytes: number, res: ServerResponse): Promise<void> {
    if (bytes < SMALL_BYTES) return;
    while (this.#held > 0 && this.#held + bytes > this.#maxBytes)
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    this.#held += bytes;
    const release = () => {
      this.#held -= bytes;
      for (const wake of this.#waiting.splice(0)) wake();
    };
    if (res.destroyed) return release();
    res.once('close', release);
    res.socket?.setTimeout(IDLE_MS);
  }
}

/** The one of this server: commands and calls share it. */
export const answerRoom = new AnswerRoom();
