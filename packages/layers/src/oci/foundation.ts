import { createHash } from 'node:crypto';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { OciLayer } from './image-parts.ts';

/** What a sandbox mounts its own file systems on. Where an image has them not, they would look like changes of the sandbox. */
const DIRECTORIES = ['dev', 'proc'];
const BLOCK = 512;

/** Do the layers (where they are mounted) lack one of the directories? Also true without layers. */
export function needsFoundation(layers: readonly string[]): boolean {
  return !DIRECTORIES.every((name) => layers.some((layer) => existsSync(join(layer, name))));
}

/** The layer that goes below the others then, as any other layer comes: always the same one. */
export function foundationLayer(directory: string): OciLayer {
  const path = join(directory, 'foundation.tar');
  const archive = Buffer.concat([...DIRECTORIES.map((name) => directoryHeader(`${name}/`)), Buffer.alloc(2 * BLOCK)]);
  writeFileSync(path, archive, { mode: 0o600 });
  const diffId = `sha256:${createHash('sha256').update(archive).digest('hex')}`;
  const blob = { path, offset: 0, size: archive.length };
  return { blob, digest: null, sizeBytes: null, diffId, createdBy: 'mount points' };
}

/** ustar: mode 0755, owner 0:0, time 0. */
function directoryHeader(name: string): Buffer {
  const block = Buffer.alloc(BLOCK);
  const put = (text: string, at: number) => block.write(text, at, 'latin1');
  put(name, 0);
  put('0000755', 100);
  for (const at of [108, 116]) put('0000000', at);
  for (const at of [124, 136]) put('00000000000', at);
  put('        ', 148);
  put('5', 156);
  put('ustar\u000000', 257);
  const sum = block.reduce((total, byte) => total + byte, 0);
  put(`${sum.toString(8).padStart(6, '0')}\u0000 `, 148);
  return block;
}
