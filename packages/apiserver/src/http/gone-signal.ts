import type { ServerResponse } from 'node:http';

const signals = new WeakMap<ServerResponse, AbortSignal>();

/** Aborted when the client has gone before its answer was complete. One per response. */
export function goneSignal(res: ServerResponse): AbortSignal {
  const known = signals.get(res);
  if (known) return known;
  const controller = new AbortController();
  const onClose = () => {
    if (!res.writableFinished) controller.abort();
  };
  // Closing is told once: this one may have left while its sandbox was being woken.
  if (res.destroyed) onClose();
  else res.once('close', onClose);
  signals.set(res, controller.signal);
  return controller.signal;
}
