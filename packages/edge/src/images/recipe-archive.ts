import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { hostSources } from '@vivarium/layers/importers/apt-sources.ts';
import type { StackedRecipe } from '@vivarium/layers/recipes/stacked.ts';
import { BLOCK_BYTES, type TarType } from '../files/tar/tar-entry.ts';
import { encodeTarHeader, tarPadding } from '../files/tar/tar-header.ts';

const SUITE = 'bookworm';
const DEBIAN = [
  `deb http://deb.debian.org/debian ${SUITE} main`,
  `deb http://deb.debian.org/debian ${SUITE}-updates main`,
  `deb http://deb.debian.org/debian-security ${SUITE}-security main`,
];
const COMPILED = /^(__pycache__|node_modules)$/;

/** The build context of a recipe: its directories and files, and `sources.list`, where the node's own packages come from. Owners and times are fixed. */
export async function* recipeArchive({ context }: StackedRecipe): AsyncGenerator<Uint8Array> {
  for (const [name, path] of Object.entries(context)) {
    if ((await stat(path)).isDirectory()) yield* members(name, path);
    else yield* member('file', name, 0o755, await readFile(path));
  }
  const sources = hostSources(SUITE);
  yield* member('file', 'sources.list', 0o644, Buffer.from(`${(sources.length > 0 ? sources : DEBIAN).join('\n')}\n`));
  yield Buffer.alloc(2 * BLOCK_BYTES);
}

async function* members(name: string, directory: string): AsyncGenerator<Uint8Array> {
  if (name !== '.') yield* member('dir', name, 0o755);
  for (const entry of await readdir(directory, { withFileTypes: true })) {
    const path = join(directory, entry.name);
    const inside = name === '.' ? entry.name : `${name}/${entry.name}`;
    if (entry.isDirectory() && !COMPILED.test(entry.name)) yield* members(inside, path);
    if (!entry.isFile()) continue;
    const executable = ((await stat(path)).mode & 0o100) !== 0;
    yield* member('file', inside, executable ? 0o755 : 0o644, await readFile(path));
  }
}

function* member(type: TarType, name: string, mode: number, content = Buffer.alloc(0)): Generator<Uint8Array> {
  const size = content.length;
  yield encodeTarHeader({
    type,
    name: Buffer.from(name),
    link: Buffer.alloc(0),
    mode,
    uid: 0,
    gid: 0,
    size,
    mtimeNs: 0n,
  });
  yield content;
  yield Buffer.alloc(tarPadding(size));
}
