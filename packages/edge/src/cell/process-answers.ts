import { VivError } from '@vivarium/protocol';
import type { CellProcess } from './cell-process.ts';
import { Deadline } from './deadline.ts';
import { FRAME } from './frame.ts';
import type { Session } from './session.ts';

const ANSWER_MS = 30_000;
/** After a reconnect: how long an answer to START may still come before "START received" counts as running. */
const STARTED_MS = 200;

type Waiter<T> = { resolve: (value: T) => void; reject: (error: VivError) => void };

/** The answers that a process needs from the guest, one after the other: to SPAWN, then to START; each within a time. */
export class ProcessAnswers {
  readonly #session: Session;
  readonly #stream: number;
  readonly #expired: (error: VivError) => void;
  #spawned: Waiter<CellProcess> | null = null;
  #started: Waiter<void> | null = null;
  #deadline: Deadline | null = null;

  /** `expired`: the guest was told to cancel since no answer came. */
  constructor(session: Session, stream: number, expired: (error: VivError) => void) {
    this.#session = session;
    this.#stream = stream;
    this.#expired = expired;
  }

  /** SPAWN was sent. */
  spawned(): Promise<CellProcess> {
    this.#await('SPAWN');
    return new Promise((resolve, reject) => {
      this.#spawned = { resolve, reject };
    });
  }

  /** Sends START. */
  started(): Promise<void> {
    this.askAgain();
    return new Promise((resolve, reject) => {
      this.#started = { resolve, reject };
    });
  }

  /** Sends START over a new connection: the guest has not had it. */
  askAgain(): void {
    this.#session.sendShort(FRAME.START, this.#stream);
    this.#await('START');
  }

  /** The guest has had START: only a failure that is on its way may still come. */
  startedSoon(running: () => void): void {
    this.#wait(STARTED_MS, running);
  }

  giveSpawned(process: CellProcess): void {
    this.suspend();
    this.#spawned?.resolve(process);
    this.#spawned = null;
  }

  giveStarted(): void {
    this.suspend();
    this.#started?.resolve();
    this.#started = null;
  }

  /** No answer can come now. */
  suspend(): void {
    this.#deadline?.clear();
  }

  /** Nothing is waited for any more; what is still pending rejects (`error` null: nothing is). */
  end(error: VivError | null): void {
    this.suspend();
    const waiters = [this.#spawned, this.#started];
    this.#spawned = null;
    this.#started = null;
    if (error) for (const waiter of waiters) waiter?.reject(error);
  }

  #await(what: string): void {
    this.#wait(ANSWER_MS, () => {
      this.#session.sendShort(FRAME.CANCEL, this.#stream);
      this.#expired(new VivError('request_timeout', `no answer to ${what} within ${ANSWER_MS} ms`));
    });
  }

  #wait(ms: number, expired: () => void): void {
    this.suspend();
    this.#deadline = new Deadline(ms, this.#session, expired);
    this.#deadline.arm();
  }
}
