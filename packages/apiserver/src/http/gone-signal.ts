import type { ServerResponse } from 'node:http';

const signals = new WeakMap<ServerResponse, AbortSignal>();

/** Aborted when the client has gone before its answer was complete. One per response. */
export function goneSignal(res: ServerResponse): AbortSignal {
  const known = signals.get(res);
  if (known) return known;
  const controller = new AbortController();
  res.once('close', () => {
    if (!res.writableFinished) controller.abort();
  });
  signals.set(res, controller.signal);
  return controller.signal;
}
