import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { lstat, readdir, readlink, realpath, stat } from 'node:fs/promises';
import { dirname, isAbsolute, join, resolve, sep } from 'node:path';
import { taskInvalid, taskRefused } from './complaint.ts';

const ENTRIES_MAX = 100_000;
const BYTES_MAX = 4 * 2 ** 30;
const DEPTH_MAX = 64;
/** The directory may be a checkout of its own. */
const SKIPPED_AT_TOP = ['.git'];

export type TreeEntry = {
  /** Relative, with `/`. */
  path: string;
  type: 'file' | 'directory' | 'symlink';
  mode: number;
  bytes: number;
  /** Of a symbolic link. */
  target: string | null;
  /** What it is for a reader who follows links; null: a link to nothing. */
  resolved: 'file' | 'directory' | null;
};

/**
 * All that is below a task directory (`root`, links resolved), sorted by path. Bounded. A symbolic link that leaves the
 * directory is refused: what it points to would be read from this machine. Sockets, pipes and devices are invalid.
 */
export async function readTree(root: string): Promise<TreeEntry[]> {
  const entries: TreeEntry[] = [];
  let bytes = 0;
  const visit = async (directory: string, depth: number): Promise<void> => {
    if (depth > DEPTH_MAX) throw taskInvalid({ file: directory }, `is nested deeper than ${DEPTH_MAX} directories`);
    for (const name of (await readdir(join(root, directory))).sort()) {
      if (depth === 0 && SKIPPED_AT_TOP.includes(name)) continue;
      const path = directory === '' ? name : `${directory}/${name}`;
      const entry = await readEntry(root, path);
      entries.push(entry);
      bytes += entry.bytes;
      if (entries.length > ENTRIES_MAX)
        throw taskInvalid({ file: path }, `the task has more than ${ENTRIES_MAX} files`);
      if (bytes > BYTES_MAX) throw taskInvalid({ file: path }, `the task is larger than ${BYTES_MAX / 2 ** 30} GiB`);
      if (entry.type === 'directory') await visit(path, depth + 1);
    }
  };
  await visit('', 0);
  return entries.sort((a, b) => (a.path < b.path ? -1 : 1));
}

/** SHA-256 over paths, types, executable bits, contents and link targets. Times, owners and other mode bits don't count. */
export async function checksumOf(root: string, entries: readonly TreeEntry[]): Promise<string> {
  const whole = createHash('sha256');
  for (const { path, type, mode, target } of entries) {
    const executable = type === 'file' && (mode & 0o100) !== 0;
    const content = type === 'file' ? await digestOf(join(root, path)) : (target ?? '');
    whole.update(JSON.stringify([path, type, executable, content]));
  }
  return whole.digest('hex');
}

/** SHA-256 (hex) of a file's content. */
export async function digestOf(file: string): Promise<string> {
  const hash = createHash('sha256');
  for await (const chunk of createReadStream(file)) hash.update(chunk as Buffer);
  return hash.digest('hex');
}

async function readEntry(root: string, path: string): Promise<TreeEntry> {
  const file = join(root, path);
  const found = await lstat(file);
  const mode = found.mode & 0o7777;
  if (found.isDirectory()) return { path, type: 'directory', mode, bytes: 0, target: null, resolved: 'directory' };
  if (found.isFile()) return { path, type: 'file', mode, bytes: found.size, target: null, resolved: 'file' };
  if (!found.isSymbolicLink()) throw taskInvalid({ file: path }, 'is neither a file nor a directory nor a link');
  const target = await readlink(file);
  if (isInside(root, resolve(dirname(file), target)) && isInside(root, await destination(dirname(file), target))) {
    return { path, type: 'symlink', mode, bytes: 0, target, resolved: await kindOf(file) };
  }
  const hint = 'Copy what it points to into the task, or make the link in the Dockerfile.';
  throw taskRefused({ file: path, field: path }, `is a symbolic link that leaves the task directory (${target})`, hint);
}

/** Where a link leads, other links on the way followed, also when there is nothing there. */
async function destination(directory: string, target: string): Promise<string> {
  let current = isAbsolute(target) ? '/' : directory;
  for (const part of target.split('/')) {
    const next = join(current, part);
    current = await realpath(next).catch(() => next);
  }
  return current;
}

async function kindOf(file: string): Promise<TreeEntry['resolved']> {
  const followed = await stat(file).catch(() => undefined);
  if (followed?.isFile()) return 'file';
  return followed?.isDirectory() ? 'directory' : null;
}

function isInside(root: string, path: string): boolean {
  return path === root || path.startsWith(root.endsWith(sep) ? root : root + sep);
}
