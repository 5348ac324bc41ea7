import { createReadStream, createWriteStream } from 'node:fs';
import { lstat, rename, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { type Entry, type Sandbox, VivError, type VolumeFiles } from '@vivarium/sdk';
import { makeDirectory, packTree, unpackTree } from '@vivarium/sdk/node';
import { bad } from './complaint.ts';
import { lastComponent } from './copy-side.ts';

export type Copied = { entries: number; bytes: number };
export type OnProgress = (entries: number, bytes: number) => void;

/** Files that are elsewhere: those of a sandbox, or of a volume. */
export type Place = {
  /** Of what a link points to, where links are followed. */
  stat(path: string): Promise<Entry>;
  write(path: string, data: ByteStream, mode: number): Promise<unknown>;
  readStream(path: string): Promise<ReadableStream<Uint8Array>>;
  upload(path: string, tar: ByteStream): Promise<Copied>;
  download(path: string): Promise<ReadableStream<Uint8Array>>;
};
type ByteStream = AsyncIterable<Uint8Array>;

/** Files of a sandbox, with the permissions of `user`; what arrives there is owned by `owner`. */
export function inSandbox({ files }: Sandbox, { user, owner }: { user?: string; owner?: string }): Place {
  const as = user ? { user } : {};
  const owned = { ...as, ...(owner && { owner }) };
  return {
    stat: (path) => files.stat(path, { ...as, follow: true }),
    write: (path, data, mode) => files.write(path, data, { ...owned, mode }),
    readStream: (path) => files.readStream(path, as),
    upload: (path, tar) => files.upload(path, tar, owned),
    download: (path) => files.download(path, as),
  };
}

/** Files of a volume; what arrives there is owned by uid and gid (default 1000). */
export function inVolume(files: VolumeFiles, owner: { uid?: number; gid?: number }): Place {
  return {
    stat: (path) => files.stat(path),
    write: (path, data, mode) => files.write(path, data, { ...owner, mode }),
    readStream: (path) => files.readStream(path),
    upload: (path, tar) => files.upload(path, tar, owner),
    download: (path) => files.download(path),
  };
}

/** From here to there, as cp -a does: into the directory if the target is one, else to that name. */
export async function copyIn(local: string, place: Place, path: string, onProgress: OnProgress): Promise<Copied> {
  const info = await lstat(local).catch((error: NodeJS.ErrnoException) => {
    throw new VivError('path_not_found', `can't read ${local} (${error.code})`, { hint: 'Check the local path.' });
  });
  const target = await remoteTarget(place, path, lastComponent(join(process.cwd(), local)));
  if (info.isDirectory()) {
    const report = ({ entries, bytes }: Copied) => onProgress(entries, bytes);
    return place.upload(target, packTree(local, { onProgress: report }));
  }
  const file = await stat(local);
  if (!file.isFile()) throw bad(`${local} is neither a file nor a directory`);
  let bytes = 0;
  const source = createReadStream(local, { highWaterMark: 262_144 });
  source.on('data', (chunk) => {
    bytes += chunk.length;
    onProgress(1, bytes);
  });
  await place.write(target, source, file.mode & 0o7777);
  return { entries: 1, bytes };
}

/** From there to here. What comes is not trusted: it stays beneath the target. */
export async function copyOut(place: Place, path: string, local: string, onProgress: OnProgress): Promise<Copied> {
  const entry = await place.stat(path);
  const target = await localTarget(local, lastComponent(path) || 'root');
  if (entry.type === 'dir') {
    return unpackTree(await place.download(path), target, ({ entries, bytes }) => onProgress(entries, bytes));
  }
  return fileOut(place, path, entry, target, onProgress);
}

/** Written beside the target and renamed, so that a broken transfer leaves the old file. */
async function fileOut(
  place: Place,
  path: string,
  entry: Entry,
  target: string,
  onProgress: OnProgress,
): Promise<Copied> {
  const temporary = join(dirname(target), `.${lastComponent(target)}.viv-${process.pid}`);
  let bytes = 0;
  try {
    const source = Readable.fromWeb((await place.readStream(path)) as never);
    source.on('data', (chunk: Uint8Array) => {
      bytes += chunk.length;
      onProgress(1, bytes);
    });
    await pipeline(source, createWriteStream(temporary, { mode: entry.mode & 0o777, flags: 'wx' }));
    await rename(temporary, target);
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
  return { entries: 1, bytes };
}

/** From one place to another, through this machine but not its disk. */
export async function copyAcross(from: Place, source: string, to: Place, path: string): Promise<Copied> {
  const entry = await from.stat(source);
  const target = await remoteTarget(to, path, lastComponent(source));
  if (entry.type === 'dir') return to.upload(target, await from.download(source));
  await to.write(target, await from.readStream(source), entry.mode);
  return { entries: 1, bytes: entry.sizeBytes };
}

async function remoteTarget(place: Place, path: string, name: string): Promise<string> {
  const into = `${path.replace(/\/+$/, '')}/${name}`;
  if (path.endsWith('/')) return into;
  const entry = await place.stat(path).catch((error: unknown) => {
    if (error instanceof VivError && error.code === 'path_not_found') return undefined;
    throw error;
  });
  return entry?.type === 'dir' ? into : path;
}

async function localTarget(path: string, name: string): Promise<string> {
  if (path.endsWith('/')) makeDirectory(path);
  const info = await stat(path).catch(() => undefined);
  return info?.isDirectory() ? join(path, name) : path;
}
