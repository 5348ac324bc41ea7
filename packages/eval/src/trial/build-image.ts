import { join } from 'node:path';
import type { Image, ImportOptions, Vivarium } from '@vivarium/sdk';
import { packContext } from '@vivarium/sdk/node';
import type { EnvironmentConfig } from '../task/index.ts';

export type ImageBuild = {
  name: string;
  /** Directory with the files that the Dockerfile copies. */
  context: string;
  /** Relative to it. */
  dockerfile: string;
  environment: EnvironmentConfig;
  network: 'none' | 'node';
  /** FROM name → image of ours. */
  map: Record<string, string>;
  noCache: boolean;
  signal: AbortSignal;
  /** Steps and their output, for whoever watches. */
  onText: (text: string) => void;
};

/** Builds the image of a task on the node. A step that fails is `build_failed`, with the step's output in details. */
export async function buildImage(viv: Vivarium, build: ImageBuild): Promise<Image> {
  const { name, context, dockerfile, environment, network, map, noCache, signal, onText } = build;
  const make = async () =>
    viv.images.build({
      name,
      network,
      map,
      noCache,
      timeoutMs: environment.buildTimeoutMs,
      signal,
      ...(await packContext(context, { dockerfile: join(context, dockerfile) })),
      onProgress: (event) => {
        if (event.type === 'step' && event.ms === null) onText(`${event.index}/${event.total} ${event.instruction}`);
        if (event.type === 'output') onText(event.text);
        if (event.type === 'warning') onText(`warning: ${event.message}`);
      },
    });
  return viv.images.withBase(make, baseProgress(signal, onText));
}

/** How the base image is made, once per node and before the time of any build counts. */
export function baseProgress(signal: AbortSignal, onText: (text: string) => void): ImportOptions {
  return {
    signal,
    onProgress: ({ stage, message }) => onText(`making the base image (once, about a minute): ${stage}: ${message}`),
  };
}
