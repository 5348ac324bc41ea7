import { FRAME } from './frame.ts';
import type { Session } from './session.ts';

/** Signals and the like that wait for the next connection. */
const DEFERRED_MAX = 64;

/** What is done to a process from outside and has no answer. Without a connection it is said when there is the next. */
export class ProcessControls {
  readonly #session: Session;
  readonly #stream: number;
  #deferred: (() => void)[] | null = null;

  constructor(session: Session, stream: number) {
    this.#session = session;
    this.#stream = stream;
  }

  signal(signal: number, scope: 'process' | 'group'): void {
    this.#say(() => this.#session.sendShort(FRAME.SIGNAL, this.#stream, signal, scope === 'group' ? 1 : 0));
  }

  resize(rows: number, cols: number): void {
    this.#say(() => this.#session.sendShort(FRAME.RESIZE, this.#stream, rows + cols * 0x1_0000));
  }

  killTree(): void {
    this.#say(() => this.#session.sendShort(FRAME.KILLTREE, this.#stream));
  }

  /** The next connection is up. */
  sayDeferred(): void {
    const deferred = this.#deferred ?? [];
    this.#deferred = null;
    for (const say of deferred) say();
  }

  #say(say: () => void): void {
    if (this.#session.connected) return say();
    this.#deferred ??= [];
    if (this.#deferred.length < DEFERRED_MAX) this.#deferred.push(say);
  }
}
