import type { ImportProgress, RequestControl, Sandbox, Vivarium } from '@vivarium/sdk';
import { ProgressLine } from './progress.ts';

/** Creates a sandbox; should that be the first use of the base image, shows how it is made. */
export async function creating(
  create: (control: RequestControl) => Promise<Sandbox>,
  idempotencyKey: string | undefined,
): Promise<Sandbox> {
  const line = new ProgressLine();
  try {
    return await create({
      ...(idempotencyKey !== undefined && { idempotencyKey }),
      onProgress: (progress) => showBase(line, progress),
    });
  } finally {
    line.end();
  }
}

/** Does `work`, which may be the first to need the base image; shows how that is made. */
export async function withBaseShown<T>(
  viv: Vivarium,
  work: () => Promise<T>,
  quiet = false,
  signal?: AbortSignal,
): Promise<T> {
  const line = new ProgressLine(quiet);
  const again = () => {
    line.end();
    return work();
  };
  try {
    return await viv.images.withBase(again, {
      ...(signal && { signal }),
      onProgress: (progress) => showBase(line, progress),
    });
  } finally {
    line.end();
  }
}

function showBase(line: ProgressLine, { stage, message }: ImportProgress): void {
  line.update(stage, `making the base image (once, about a minute): ${stage}: ${message}`);
}
