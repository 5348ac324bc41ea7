import type { Image, Progress } from '@vivarium/protocol';

export type Report = (stage: string, message: string, count?: { done?: number; total?: number }) => void;

/** A reader that is slow sees the newest lines; older ones are dropped. */
const MAX_PENDING = 64;

/**
 * Runs long work and yields its progress, at last `done` with the image. An error of the work is thrown, after the work has cleaned
 * up. Leaving the loop early aborts the work and waits for it to have cleaned up. The work starts with the first `next()`.
 */
export async function* withProgress(
  signal: AbortSignal,
  work: (report: Report, signal: AbortSignal) => Promise<Image>,
): AsyncGenerator<Progress> {
  const left = new AbortController();
  const pending: Progress[] = [];
  let wake = () => {};
  let running = true;
  const report: Report = (stage, message, count) => {
    pending.push({ type: 'progress', stage, message, ...count });
    if (pending.length > MAX_PENDING) pending.shift();
    wake();
  };
  const result = work(report, AbortSignal.any([signal, left.signal])).finally(() => {
    running = false;
    wake();
  });
  result.catch(() => {});
  try {
    while (running || pending.length > 0) {
      const next = pending.shift();
      if (next) yield next;
      else
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
    }
    yield { type: 'done', image: await result };
  } finally {
    left.abort();
    await result.catch(() => {});
  }
}
