import type { IncomingMessage, ServerResponse } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import type { Sandbox } from '@vivarium/protocol';
import type { E2bContext } from './context.ts';
import { sendUnreachable } from './error.ts';

/** In these a sandbox answers nobody. */
const SILENT = new Set<Sandbox['state']>(['paused', 'ended', 'failed']);
const AGAIN_MS = 100;

type Closing = { readonly destroyed: boolean; once(event: 'close', listener: () => void): unknown };
type Call = {
  cut(): void;
  /** It came while the sandbox was being paused, and waits to wake it: that pause does not concern it. */
  early: boolean;
};

/**
 * Calls into sandboxes that are under way. When one is paused or ends, its clients are disconnected at once, as those of E2B are: they would
 * wait for an answer that does not come before somebody resumes it.
 */
export class OpenCalls {
  readonly #context: E2bContext;
  readonly #calls = new Map<string, Set<Call>>();
  readonly #stop = new AbortController();

  constructor(context: E2bContext) {
    this.#context = context;
    void this.#follow();
  }

  close(): void {
    this.#stop.abort();
  }

  /** One that has no answer yet is told that the sandbox is not there. */
  add(id: string, req: IncomingMessage, res: ServerResponse): void {
    this.#note(id, res, () => {
      if (!res.headersSent) sendUnreachable(req, res, id);
      else if (!res.writableFinished) res.destroy();
    });
  }

  addSocket(id: string, socket: Closing & { destroy(): unknown }): void {
    this.#note(id, socket, () => socket.destroy());
  }

  #note(id: string, closing: Closing, cut: () => void): void {
    if (closing.destroyed) return;
    const calls = this.#calls.get(id) ?? new Set();
    const call = { cut, early: this.#stateOf(id) === 'pausing' };
    this.#calls.set(id, calls.add(call));
    closing.once('close', () => {
      calls.delete(call);
      if (calls.size === 0 && this.#calls.get(id) === calls) this.#calls.delete(id);
    });
  }

  async #follow(): Promise<void> {
    const { signal } = this.#stop;
    while (!signal.aborted) {
      try {
        for await (const { id, state } of this.#context.edge.sandboxes.events({}, signal))
          if (SILENT.has(state)) this.#cut(id, state === 'paused');
      } catch (err) {
        // It lagged: what it missed is looked up.
        this.#context.log.warn({ err }, 'events of sandboxes were missed');
        for (const id of [...this.#calls.keys()]) {
          const state = this.#stateOf(id);
          if (state === undefined || SILENT.has(state)) this.#cut(id, state === 'paused');
        }
      }
      await delay(AGAIN_MS, undefined, { signal, ref: false }).catch(() => {});
    }
  }

  #cut(id: string, paused: boolean): void {
    const calls = this.#calls.get(id) ?? new Set();
    for (const call of [...calls]) {
      if (paused && call.early) {
        call.early = false;
        continue;
      }
      calls.delete(call);
      call.cut();
    }
    if (calls.size === 0) this.#calls.delete(id);
  }

  /** Undefined: it is not known any more. */
  #stateOf(id: string): Sandbox['state'] | undefined {
    try {
      return this.#context.edge.sandboxes.get(id).state;
    } catch {
      return undefined;
    }
  }
}
