import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { lstat, readdir, readlink, realpath } from 'node:fs/promises';
import { dirname, join, resolve, sep } from 'node:path';
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
  const stat = await lstat(join(root, path));
  const mode = stat.mode & 0o7777;
  if (stat.isDirectory()) return { path, type: 'directory', mode, bytes: 0, target: null };
  if (stat.isFile()) return { path, type: 'file', mode, bytes: stat.size, target: null };
  if (!stat.isSymbolicLink()) throw taskInvalid({ file: path }, 'is neither a file nor a directory nor a link');
  const target = await readlink(join(root, path));
  const written = resolve(dirname(join(root, path)), target);
  const real = await realpath(join(root, path)).catch(() => written);
  if (isInside(root, written) && isInside(root, real)) return { path, type: 'symlink', mode, bytes: 0, target };
  const hint = 'Copy what it points to into the task, or make the link in the Dockerfile.';
  throw taskRefused({ file: path, field: path }, `is a symbolic link that leaves the task directory (${target})`, hint);
}

function isInside(root: string, path: string): boolean {
  return path === root || path.startsWith(root.endsWith(sep) ? root : root + sep);
}
