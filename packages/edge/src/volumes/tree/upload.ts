import { randomBytes } from 'node:crypto';
import { constants } from 'node:fs';
import { type FileHandle, link, lstat, open, rename, unlink } from 'node:fs/promises';
import { VivError } from '@vivarium/protocol';
import { at, openDirectory } from './descent.ts';
import { type Attributes, makeDirectories, setAttributes } from './directories.ts';
import { entryOf, type VolumeEntry } from './entry.ts';
import { named } from './failure.ts';
import { pathOf } from './names.ts';

/** Begins the names of files on their way in. */
export const UPLOAD = 'upload-';
const DIRECTORY_MODE = 0o755;

export type WriteOptions = Attributes & {
  exclusive?: boolean | undefined;
  parents?: boolean | undefined;
  fsync?: boolean | undefined;
  mtimeNs?: bigint | undefined;
};

/**
 * Writes a file whole or not at all: its content arrives where no sandbox sees it and is then moved to its name. What goes wrong before
 * leaves the old file. A link of that name is replaced, not followed.
 */
export async function writeFile(
  { root, staging }: { root: string; staging: string },
  names: readonly Buffer[],
  body: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  options: WriteOptions,
): Promise<VolumeEntry> {
  const name = names.at(-1);
  if (name === undefined) throw new VivError('is_directory', '/ is a directory', { details: { path: '/' } });
  await using parent = await named(names, () => openTarget(root, names.slice(0, -1), options));
  await refuse(parent, name, names, options.exclusive ?? false);
  const temporary = `${staging}/${UPLOAD}${randomBytes(12).toString('hex')}`;
  const { O_WRONLY, O_CREAT, O_EXCL, O_NOFOLLOW } = constants;
  await using file = await named(names, () => open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600));
  let placed = false;
  try {
    for await (const chunk of body) await named(names, () => writeAll(file, chunk));
    return await named(names, async () => {
      await finish(file, options);
      if (options.exclusive) await link(temporary, at(parent, name));
      else await rename(temporary, at(parent, name));
      placed = !options.exclusive;
      return entryOf(name, await file.stat({ bigint: true }), null);
    });
  } finally {
    if (!placed) await unlink(temporary).catch(() => {});
  }
}

async function openTarget(root: string, above: readonly Buffer[], options: WriteOptions): Promise<FileHandle> {
  if (!options.parents) return openDirectory(root, above);
  return makeDirectories(root, above, { ...options, mode: DIRECTORY_MODE });
}

/** Told before the body is read. Whoever takes the name meanwhile is found out when the file gets it. */
async function refuse(parent: FileHandle, name: Buffer, names: readonly Buffer[], exclusive: boolean): Promise<void> {
  const there = await lstat(at(parent, name)).catch(() => undefined);
  const path = pathOf(names).toString();
  if (there?.isDirectory()) throw new VivError('is_directory', `${path} is a directory`, { details: { path } });
  if (there && exclusive) throw new VivError('path_exists', `${path} is there already`, { details: { path } });
}

async function writeAll(file: FileHandle, chunk: Uint8Array): Promise<void> {
  for (let from = 0; from < chunk.length; ) {
    const { bytesWritten } = await file.write(chunk, from, chunk.length - from);
    from += bytesWritten;
  }
}

async function finish(file: FileHandle, { fsync, mtimeNs, ...attributes }: WriteOptions): Promise<void> {
  await setAttributes(file, attributes);
  if (mtimeNs !== undefined) await file.utimes(Number(mtimeNs) / 1e9, Number(mtimeNs) / 1e9);
  if (fsync) await file.sync();
}
