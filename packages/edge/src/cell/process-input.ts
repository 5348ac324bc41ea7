import { VivError } from '@vivarium/protocol';
import type { Link } from './link.ts';
import { Outflow } from './outflow.ts';

/** The stdin of one process: what is written goes on across connections, and across a restart of the host. */
export class ProcessInput {
  readonly #outflow: Outflow;
  readonly #received: number;
  /** Start of what the next writes bring, which the guest has already. */
  #skip = 0;

  /** `received`: bytes that the guest has from an earlier session. */
  constructor(link: Link, stream: number, received = 0) {
    this.#outflow = new Outflow(link, stream, true, received);
    this.#received = received;
  }

  /** The next writes begin at `offset`, as the caller has kept it. */
  goOn(offset: number): void {
    if (offset > this.#received) {
      const message = `stdin can't go on at ${offset}: the guest has ${this.#received} bytes of it`;
      throw new VivError('state_conflict', message);
    }
    this.#skip = this.#received - offset;
  }

  write(chunk: Uint8Array): Promise<void> {
    const skip = Math.min(this.#skip, chunk.length);
    this.#skip -= skip;
    return new Promise((resolve, reject) => {
      const rest = skip > 0 ? chunk.subarray(skip) : chunk;
      this.#outflow.write(rest, (error) => (error ? reject(error) : resolve()));
    });
  }

  /** EOF follows the last byte. */
  close(): void {
    this.#outflow.close();
  }

  window(payload: Buffer): void {
    this.#outflow.window(payload);
  }

  /** The next connection is up; the guest has `received` bytes. */
  resume(received: number): void {
    this.#outflow.resume(received);
  }

  abandon(error: VivError): void {
    this.#outflow.abandon(error);
  }
}
