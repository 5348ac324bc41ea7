import type { EdgeContext } from './context.ts';

/** A create that failed left nothing, so its idempotency key may be used again. A full disk keeps it: then a retry finds the failed row. */
export function releaseKey(context: EdgeContext, sandbox: string): void {
  try {
    context.registry.idempotency.forget(sandbox);
  } catch (err) {
    context.log.warn({ err, sandbox }, 'an idempotency key could not be given free');
  }
}
