import { constants, lstat, mkdir, open, rm, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { makeDirectory } from '@vivarium/protocol/make-directory.ts';
import { VivError } from '@vivarium/protocol/viv-error.ts';
import tar from 'tar-stream';
import { type ByteStream, iterate } from '../bytes.ts';
import type { TreeProgress } from './pack-tree.ts';

/**
 * Unpacks a tar that came out of a sandbox into a local directory. The archive is not trusted: an entry whose path leaves
 * the directory, also by way of a symlink, is refused (`path_escapes`); devices are left out; set-id bits are dropped.
 */
export async function unpackTree(
  archive: ByteStream,
  target: string,
  onProgress: (progress: TreeProgress) => void = () => {},
): Promise<TreeProgress> {
  const progress = { entries: 0, bytes: 0 };
  makeDirectory(target);
  const tree = { target, realDirectories: new Set<string>() };
  await eachEntry(archive, async (entry) => {
    const name = checkedName(entry.header.name);
    if (name !== '') {
      await unpackEntry(tree, name, entry, (bytes) => {
        progress.bytes += bytes;
        onProgress(progress);
      });
    }
    progress.entries++;
    onProgress(progress);
  });
  return progress;
}

/** One entry after the other; the first failure ends it and is thrown. */
async function eachEntry(archive: ByteStream, visit: (entry: Entry) => Promise<void>): Promise<void> {
  const extract = tar.extract();
  let visiting: Promise<void> = Promise.resolve();
  const finished = new Promise<void>((resolve, reject) => {
    extract.on('entry', (header, stream, next) => {
      stream.on('error', () => {}); // Destroying the archive destroys the entry; the archive reports it.
      visiting = visit(Object.assign(stream as unknown as AsyncIterable<Uint8Array>, { header })).then(() => {
        stream.resume();
        next();
      });
      visiting.catch((error: Error) => {
        reject(error);
        extract.destroy(error);
      });
    });
    extract.on('finish', resolve);
    extract.on('error', reject);
    extract.on('close', () => reject(new VivError('invalid_archive', 'the archive broke off')));
  });
  const fed = feed(archive, extract);
  await Promise.all([finished, fed]);
  await visiting;
}

function drained(extract: tar.Extract): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      extract.off('drain', done);
      extract.off('close', done);
      resolve();
    };
    extract.on('drain', done);
    extract.on('close', done);
  });
}

type Entry = AsyncIterable<Uint8Array> & { header: tar.Header };
type Tree = { target: string; realDirectories: Set<string> };

/** Ends when the archive is through or the reader has given up. */
async function feed(archive: ByteStream, extract: tar.Extract): Promise<void> {
  try {
    for await (const chunk of iterate(archive)) {
      if (extract.destroying) return;
      if (!extract.write(chunk)) await drained(extract);
    }
    extract.end(undefined);
  } catch (error) {
    extract.destroy(error as Error);
    throw error;
  }
}

async function unpackEntry(tree: Tree, name: string, entry: Entry, onBytes: (bytes: number) => void): Promise<void> {
  const { type, mode, linkname } = entry.header;
  const path = join(tree.target, name);
  if (type === 'directory') {
    await makeParents(tree, `${name}/.`);
    return;
  }
  await makeParents(tree, name);
  if (type === 'symlink') {
    // One that could not be read inside, as those in /proc: left out.
    if (!linkname) return;
    await rm(path, { force: true });
    await symlink(linkname, path);
  } else if (type === 'link') {
    await copyWithin(tree, checkedName(linkname), path, mode);
  } else if (type === 'file' || type === 'contiguous-file') {
    await writeFile(path, mode, entry, onBytes);
  }
}

/** Exclusive after removal: never written through a link. */
async function writeFile(
  path: string,
  mode: number,
  chunks: AsyncIterable<Uint8Array>,
  onBytes: (bytes: number) => void,
): Promise<void> {
  await rm(path, { force: true });
  const file = await open(path, 'wx', mode & 0o777);
  try {
    for await (const chunk of chunks) {
      await file.writev([chunk]);
      onBytes(chunk.length);
    }
  } finally {
    await file.close();
  }
}

/** Relative, without `..`; `./` and slashes at the end are dropped. Empty: the directory itself. */
function checkedName(name: string): string {
  const parts = name.split('/').filter((part) => part !== '' && part !== '.');
  if (name.startsWith('/') || parts.includes('..') || name.includes('\0')) throw escapes(name);
  return parts.join('/');
}

/** Every directory above the entry must be a real one: a symlink that the archive planted must not lead out. */
async function makeParents({ target, realDirectories }: Tree, name: string): Promise<void> {
  let at = '';
  for (const part of name.split('/').slice(0, -1)) {
    at = at === '' ? part : `${at}/${part}`;
    if (realDirectories.has(at)) continue;
    const path = join(target, at);
    await mkdir(path).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error;
    });
    if (!(await lstat(path)).isDirectory()) throw escapes(name);
    realDirectories.add(at);
  }
}

/** A hard link becomes a copy of the file that was unpacked before. */
async function copyWithin(tree: Tree, from: string, path: string, mode: number): Promise<void> {
  await makeParents(tree, from);
  const source = await open(join(tree.target, from), constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  try {
    await writeFile(path, mode, source.createReadStream({ autoClose: false }), () => {});
  } finally {
    await source.close();
  }
}

function escapes(name: string): VivError {
  return new VivError('path_escapes', `the archive has an entry that would leave the target: ${JSON.stringify(name)}`);
}
