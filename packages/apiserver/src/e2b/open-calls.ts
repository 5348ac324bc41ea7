import type { IncomingMessage, ServerResponse } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import type { Sandbox } from '@vivarium/protocol';
import type { E2bContext } from './context.ts';
import { sendUnreachable } from './error.ts';

/** In these a sandbox answers nobody. */
const SILENT = new Set<Sandbox['state']>(['paused', 'ended', 'failed']);
const AGAIN_MS = 100;

type Closing = { once(event: 'close', listener: () => void): unknown };

/**
 * Calls into sandboxes that are under way. When one is paused or ends, its clients are disconnected at once, as those of E2B are: they would
 * wait for an answer that does not come before somebody resumes it.
 */
export class OpenCalls {
  readonly #context: E2bContext;
  readonly #cuts = new Map<string, Set<() => void>>();
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
    const cuts = this.#cuts.get(id) ?? new Set();
    this.#cuts.set(id, cuts.add(cut));
    closing.once('close', () => {
      cuts.delete(cut);
      if (cuts.size === 0 && this.#cuts.get(id) === cuts) this.#cuts.delete(id);
    });
  }

  async #follow(): Promise<void> {
    const { signal } = this.#stop;
    while (!signal.aborted) {
      try {
        for await (const { id, state } of this.#context.edge.sandboxes.events({}, signal))
          if (SILENT.has(state)) this.#cut(id);
      } catch (err) {
        // It lagged: what it missed is looked up.
        this.#context.log.warn({ err }, 'events of sandboxes were missed');
        for (const id of [...this.#cuts.keys()]) if (this.#isSilent(id)) this.#cut(id);
      }
      await delay(AGAIN_MS, undefined, { signal, ref: false }).catch(() => {});
    }
  }

  #cut(id: string): void {
    const cuts = this.#cuts.get(id);
    this.#cuts.delete(id);
    for (const cut of cuts ?? []) cut();
  }

  #isSilent(id: string): boolean {
    try {
      return SILENT.has(this.#context.edge.sandboxes.get(id).state);
    } catch {
      return true;
    }
  }
}
