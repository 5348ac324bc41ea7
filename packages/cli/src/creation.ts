import type { RequestControl, Sandbox } from '@vivarium/sdk';
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
      onProgress: ({ stage, message }) =>
        line.update(stage, `making the base image (once, about a minute): ${stage}: ${message}`),
    });
  } finally {
    line.end();
  }
}
