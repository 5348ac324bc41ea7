import { createReadStream, createWriteStream } from 'node:fs';
import { lstat, rename, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { type Entry, type Sandbox, VivError } from '@vivarium/sdk';
import { makeDirectory, packTree, unpackTree } from '@vivarium/sdk/node';
import { bad } from './complaint.ts';
import { lastComponent } from './copy-side.ts';

export type CopyOptions = { user?: string; owner?: string; onProgress(entries: number, bytes: number): void };
export type Copied = { entries: number; bytes: number };

/** Into a sandbox, as cp -a does: into the directory if the target is one, else to that name. */
export async function copyIn(local: string, sandbox: Sandbox, path: string, options: CopyOptions): Promise<Copied> {
  const info = await lstat(local).catch((error: NodeJS.ErrnoException) => {
    throw new VivError('path_not_found', `can't read ${local} (${error.code})`, { hint: 'Check the local path.' });
  });
  const target = await remoteTarget(sandbox, path, lastComponent(join(process.cwd(), local)), options);
  const as = { ...(options.user && { user: options.user }), ...(options.owner && { owner: options.owner }) };
  if (info.isDirectory()) {
    const report = ({ entries, bytes }: Copied) => options.onProgress(entries, bytes);
    return sandbox.files.upload(target, packTree(local, { onProgress: report }), as);
  }
  const file = await stat(local);
  if (!file.isFile()) throw bad(`${local} is neither a file nor a directory`);
  let bytes = 0;
  const source = createReadStream(local, { highWaterMark: 262_144 });
  source.on('data', (chunk) => {
    bytes += chunk.length;
    options.onProgress(1, bytes);
  });
  await sandbox.files.write(target, source, { ...as, mode: file.mode & 0o7777 });
  return { entries: 1, bytes };
}

/** Out of a sandbox. What comes is not trusted: it stays beneath the target. */
export async function copyOut(sandbox: Sandbox, path: string, local: string, options: CopyOptions): Promise<Copied> {
  const as = options.user ? { user: options.user } : {};
  const entry = await sandbox.files.stat(path, { ...as, follow: true });
  const target = await localTarget(local, lastComponent(path) || 'root');
  if (entry.type === 'dir') {
    return unpackTree(await sandbox.files.download(path, as), target, ({ entries, bytes }) =>
      options.onProgress(entries, bytes),
    );
  }
  return fileOut(sandbox, path, entry, target, options);
}

/** Written beside the target and renamed, so that a broken transfer leaves the old file. */
async function fileOut(
  sandbox: Sandbox,
  path: string,
  entry: Entry,
  target: string,
  options: CopyOptions,
): Promise<Copied> {
  const temporary = join(dirname(target), `.${lastComponent(target)}.viv-${process.pid}`);
  let bytes = 0;
  try {
    const source = Readable.fromWeb(
      (await sandbox.files.readStream(path, options.user ? { user: options.user } : {})) as never,
    );
    source.on('data', (chunk: Uint8Array) => {
      bytes += chunk.length;
      options.onProgress(1, bytes);
    });
    await pipeline(source, createWriteStream(temporary, { mode: entry.mode & 0o777, flags: 'wx' }));
    await rename(temporary, target);
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
  return { entries: 1, bytes };
}

/** From one sandbox to another, through this machine but not its disk. */
export async function copyAcross(
  from: Sandbox,
  source: string,
  to: Sandbox,
  path: string,
  options: CopyOptions,
): Promise<Copied> {
  const as = options.user ? { user: options.user } : {};
  const entry = await from.files.stat(source, { ...as, follow: true });
  const target = await remoteTarget(to, path, lastComponent(source), options);
  const owned = { ...as, ...(options.owner && { owner: options.owner }) };
  if (entry.type === 'dir') return to.files.upload(target, await from.files.download(source, as), owned);
  await to.files.write(target, await from.files.readStream(source, as), { ...owned, mode: entry.mode });
  return { entries: 1, bytes: entry.sizeBytes };
}

async function remoteTarget(sandbox: Sandbox, path: string, name: string, options: CopyOptions): Promise<string> {
  const into = `${path.replace(/\/+$/, '')}/${name}`;
  if (path.endsWith('/')) return into;
  const as = options.user ? { user: options.user } : {};
  const entry = await sandbox.files.stat(path, { ...as, follow: true }).catch((error: unknown) => {
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
