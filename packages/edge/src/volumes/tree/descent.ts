import { constants } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { VivError } from '@vivarium/protocol';

/**
 * How the host walks through what sandboxes write. A path is never given to the kernel whole: each name is opened from the descriptor
 * of the directory above it, without following a link and without opening what lies there (O_PATH), so nothing that is moved or
 * replaced meanwhile leads anywhere else, no FIFO or device is touched, and no lease (fcntl(2), F_SETLEASE) makes us wait. The names
 * go through /proc/self/fd, which makes of Node's calls, done by its threads, what openat(2) and its kind do.
 */

const O_PATH = 0o10000000;
const { O_DIRECTORY, O_NOFOLLOW, O_NONBLOCK } = constants;

/** A name in an opened directory, as a path for node:fs. */
export function at(directory: FileHandle, name: Buffer): Buffer {
  return Buffer.concat([Buffer.from(`/proc/self/fd/${directory.fd}/`), name]);
}

/** What a descriptor stands for, as a path for node:fs. */
export function itself(handle: FileHandle): string {
  return `/proc/self/fd/${handle.fd}`;
}

/** Opens a directory below `root`; the caller closes it. Rejects as open(2) does. */
export async function openDirectory(root: string, names: readonly Buffer[]): Promise<FileHandle> {
  let here = await open(root, O_PATH | O_DIRECTORY | O_NOFOLLOW);
  for (const name of names) {
    try {
      const next = await open(at(here, name), O_PATH | O_DIRECTORY | O_NOFOLLOW);
      await here.close();
      here = next;
    } catch (error) {
      await here.close();
      throw error;
    }
  }
  return here;
}

/** The directory above a path and the last name. Throws `invalid_argument` for the root. */
export async function openParent(
  root: string,
  names: readonly Buffer[],
): Promise<{ parent: FileHandle; name: Buffer; [Symbol.asyncDispose](): Promise<void> }> {
  const name = names.at(-1);
  if (name === undefined) throw new VivError('invalid_argument', 'the root of a volume stays as it is');
  const parent = await openDirectory(root, names.slice(0, -1));
  return { parent, name, [Symbol.asyncDispose]: () => parent.close() };
}

/** A descriptor that stands for whatever is there, without opening it; the caller closes it. */
export async function openPath(root: string, names: readonly Buffer[]): Promise<FileHandle> {
  if (names.length === 0) return openDirectory(root, names);
  await using found = await openParent(root, names);
  return await open(at(found.parent, found.name), O_PATH | O_NOFOLLOW);
}

/** Opens the content of a regular file that `handle` stands for. Rejects with EAGAIN rather than wait for somebody's lease. */
export function openContent(handle: FileHandle): Promise<FileHandle> {
  return open(itself(handle), constants.O_RDONLY | O_NONBLOCK);
}
