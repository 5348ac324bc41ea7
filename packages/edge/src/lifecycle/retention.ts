import { rm } from 'node:fs/promises';
import { sandboxDir } from './box.ts';
import type { EdgeContext } from './context.ts';

/** Removed at a time, so that nothing waits for it. */
const BATCH = 50;
const EVERY_ENDED = 100;

const counters = new WeakMap<EdgeContext, { ended: number; busy: boolean }>();

/** Now and then forgets ended sandboxes that are too old or too many: row, journal and kept outputs. */
export function pruneEnded(context: EdgeContext, now = false): void {
  const counter = counters.get(context) ?? { ended: 0, busy: false };
  counters.set(context, counter);
  counter.ended += 1;
  if (counter.busy || (!now && counter.ended % EVERY_ENDED !== 0)) return;
  counter.busy = true;
  void prune(context)
    .catch((err) => context.log.warn({ err }, 'forgetting old sandboxes failed'))
    .finally(() => {
      counter.busy = false;
    });
}

async function prune(context: EdgeContext): Promise<void> {
  const { registry, clock, limits, stateDir } = context;
  registry.idempotency.prune(clock.now());
  for (;;) {
    const ids = registry.sandboxes.surplus(clock.now() - limits.keepEndedMs, limits.keepEnded, BATCH);
    for (const id of ids) {
      await rm(sandboxDir(stateDir, id), { recursive: true, force: true });
      registry.sandboxes.delete(id);
    }
    if (ids.length < BATCH) return;
  }
}
