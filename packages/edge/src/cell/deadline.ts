import { VivError } from '@vivarium/protocol';

/** What decides whether waiting counts: a frozen sandbox can't answer. */
export type Pausable = { readonly paused: boolean };

/** A bounded wait that starts again when it ran out while the sandbox was paused. */
export class Deadline {
  readonly #ms: number;
  readonly #pausable: Pausable;
  readonly #expired: () => void;
  #timer: NodeJS.Timeout | null = null;

  constructor(ms: number, pausable: Pausable, expired: () => void) {
    this.#ms = ms;
    this.#pausable = pausable;
    this.#expired = expired;
  }

  /** Starts the wait, or starts it anew. */
  arm(): void {
    if (this.#timer !== null) this.#timer.refresh();
    else this.#timer = setTimeout(this.#fire, this.#ms);
  }

  clear(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
  }

  readonly #fire = (): void => {
    this.#timer = null;
    if (this.#pausable.paused) this.arm();
    else this.#expired();
  };
}

/** A promise that rejects with `request_timeout` after `ms`; `begin` may return what to do then. */
export function bounded<T = void>(
  pausable: Pausable,
  ms: number,
  what: string,
  begin: (settle: { resolve: (value: T) => void; reject: (error: VivError) => void }) => unknown,
): Promise<T> {
  return new Promise((resolve, reject) => {
    const deadline = new Deadline(ms, pausable, () => {
      if (typeof late === 'function') late();
      reject(new VivError('request_timeout', `no ${what} within ${ms} ms`));
    });
    deadline.arm();
    const settle = {
      resolve: (value: T): void => {
        deadline.clear();
        resolve(value);
      },
      reject: (error: VivError): void => {
        deadline.clear();
        reject(error);
      },
    };
    const late = begin(settle);
  });
}
