import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Image, type Vivarium, VivError } from '@vivarium/sdk';

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

/** STAND-IN until images.build is there: only `FROM image`. */
export async function buildImage(viv: Vivarium, options: BuildOptions): Promise<Image> {
  const text = await readFile(join(options.context, options.dockerfile), 'utf8');
  const lines = text.split('\n').filter((line) => line.trim() !== '' && !line.startsWith('#'));
  const from = /^FROM\s+(\S+)$/.exec(lines[0] ?? '')?.[1];
  if (from === undefined || lines.length > 1) throw new VivError('unsupported', 'Dockerfiles are not built yet');
  return viv.images.get(options.map[from] ?? from);
}
