import { join } from 'node:path';
import type { Image, Vivarium } from '@vivarium/sdk';
import { packContext } from '@vivarium/sdk/node';

export type BuildOptions = {
  name: string;
  context: string;
  dockerfile: string;
  network: 'none' | 'node';
  map: Record<string, string>;
  timeoutMs: number;
  signal: AbortSignal;
  onOutput: (text: string) => void;
};

/** Builds the image of a task's directory on the node; what its steps say goes to `onOutput`. */
export async function buildImage(viv: Vivarium, options: BuildOptions): Promise<Image> {
  const { context: directory, dockerfile, onOutput, ...request } = options;
  return viv.images.build({
    ...request,
    ...(await packContext(directory, { dockerfile: join(directory, dockerfile) })),
    onProgress: (event) => {
      if (event.type === 'output') onOutput(event.text);
      else if (event.type === 'step' && event.cached === null)
        onOutput(`[${event.index}/${event.total}] ${event.instruction}\n`);
    },
  });
}
