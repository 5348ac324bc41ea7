import { mkdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { VivError } from '@vivarium/protocol';
import { buildErofs } from './erofs/mkfs.ts';
import type { Report } from './progress.ts';
import { requireSpace } from './space.ts';
import { normalise } from './tree/tree.ts';

/** Makes the tree that a layer is built of. */
export type Source = {
  createdBy: string;
  /** Directories the source does not name get a fixed time, see normalise.ts. */
  impliedDirectories: boolean;
  /** Directories of the tree (`/tests`) that hide what layers below have under their names. */
  opaque?: readonly string[];
  /** Puts the tree into `root`, an empty directory (mode 0755, owned by root) that it may replace; `scratch` is beside it. */
  fill(root: string, scratch: string, report: Report, signal: AbortSignal): Promise<void>;
};

/** Turns a source into one EROFS file in `directory` and returns its path. Nothing outside the directory is touched. */
export async function buildLayer(
  source: Source,
  directory: string,
  report: Report,
  signal: AbortSignal,
): Promise<string> {
  const root = join(directory, 'root');
  const scratch = join(directory, 'scratch');
  const file = join(directory, 'layer.erofs');
  mkdirSync(root, { mode: 0o755 });
  mkdirSync(scratch, { mode: 0o755 });
  requireSpace(directory, 0);
  const startedMs = statSync(root).mtimeMs;
  await source.fill(root, scratch, report, signal);

  report('layer', 'reading the tree');
  const { impliedDirectories, opaque = [] } = source;
  const tree = await normalise(
    { root, opaque, ...(impliedDirectories && { impliedSinceMs: Math.floor(startedMs) }) },
    signal,
  );
  if (tree.droppedDeviceCount > 0) {
    report(
      'layer',
      `left out ${tree.droppedDeviceCount} device nodes: ${tree.droppedDevices.join(', ')}${tree.droppedDeviceCount > tree.droppedDevices.length ? ', …' : ''}`,
    );
  }
  if (tree.opaqueMissing.length > 0) {
    const message = `opaque: the tree has no directory ${tree.opaqueMissing.join(', ')}`;
    throw new VivError('invalid_argument', message, { details: { field: 'opaque' } });
  }
  requireSpace(directory, tree.bytes);
  report('layer', `building from ${tree.entries} entries, ${Math.ceil(tree.bytes / 1024 ** 2)} MiB`);
  await buildErofs(root, file, tree.uuid, signal);
  return file;
}
