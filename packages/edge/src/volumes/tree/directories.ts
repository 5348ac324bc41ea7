import { constants } from 'node:fs';
import { chmod, chown, type FileHandle, mkdir, open } from 'node:fs/promises';
import { at, itself, openDirectory } from './descent.ts';

const O_PATH = 0o10000000;

export type Attributes = { mode: number; uid: number; gid: number };

/** Opens a directory and makes what is missing of it. The caller closes it. */
export async function makeDirectories(
  root: string,
  names: readonly Buffer[],
  attributes: Attributes,
): Promise<FileHandle> {
  let directory = await openDirectory(root, []);
  for (const name of names) {
    const above = directory;
    try {
      directory = await openOrMake(above, name, attributes);
    } finally {
      await above.close();
    }
  }
  return directory;
}

async function openOrMake(above: FileHandle, name: Buffer, attributes: Attributes): Promise<FileHandle> {
  const openName = () => open(at(above, name), O_PATH | constants.O_DIRECTORY | constants.O_NOFOLLOW);
  try {
    return await openName();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    await makeDirectory(above, name, attributes);
    return openName();
  }
}

/** False when something is there already. */
export async function makeDirectory(above: FileHandle, name: Buffer, attributes: Attributes): Promise<boolean> {
  try {
    await mkdir(at(above, name), 0o700);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
  const made = await open(at(above, name), O_PATH | constants.O_DIRECTORY | constants.O_NOFOLLOW);
  try {
    await setAttributes(made, attributes);
  } finally {
    await made.close();
  }
  return true;
}

/** Mode and owner of what a descriptor stands for, never of what a link points to. */
export async function setAttributes(handle: FileHandle, { mode, uid, gid }: Partial<Attributes>): Promise<void> {
  const path = itself(handle);
  // A change of the owner takes set-id bits away, so the mode comes last. 2^32 - 1 leaves an id as it is (chown(2)).
  if (uid !== undefined || gid !== undefined) await chown(path, uid ?? 0xffffffff, gid ?? 0xffffffff);
  if (mode !== undefined) await chmod(path, mode);
}
