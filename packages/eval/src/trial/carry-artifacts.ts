import { basename, dirname } from 'node:path';
import { Readable } from 'node:stream';
import { type Sandbox, VivError } from '@vivarium/sdk';
import { blocks } from '@vivarium/sdk/node/pack-tree.ts';
import tar from 'tar-stream';
import type { Artifact } from '../task/index.ts';
import { isExcluded } from './collect.ts';

/**
 * From one sandbox to the other, through this process but never onto this machine's disk. The agent's processes may run on while it is
 * read, and what they make of their files decides neither where something lands nor what else does.
 */
export async function carryArtifacts(from: Sandbox, to: Sandbox, artifacts: readonly Artifact[]): Promise<void> {
  const all = [{ source: '/logs/artifacts', exclude: [] as string[] }, ...artifacts];
  for (const { source, exclude } of all) {
    const entry = await from.files.stat(source, { follow: true, user: 'root' }).catch((error: unknown) => {
      if (VivError.from(error).fault === 'infra') throw error;
      return null;
    });
    if (entry === null) continue;
    const stream = (await from.files.download(source, { user: 'root' })) as unknown as AsyncIterable<Uint8Array>;
    const isDirectory = entry.type === 'dir';
    const isCarried = isDirectory ? inDirectory(source, exclude, all) : onlyFile(basename(source));
    await to.files.upload(isDirectory ? source : dirname(source), filtered(stream, isCarried), { user: 'root' });
  }
}

type IsCarried = (path: string, type: tar.Header['type']) => boolean;

/** A link where the way to another artifact goes would have that one written where the link leads, such as /tests. */
export function inDirectory(source: string, exclude: readonly string[], all: readonly { source: string }[]): IsCarried {
  const root = `${source.replace(/\/+$/, '')}/`;
  const ways = all
    .filter((other) => other.source.startsWith(root))
    .map((other) => `${other.source.slice(root.length)}/`);
  return (path, type) =>
    !isExcluded(path, exclude) && !(type === 'symlink' && ways.some((way) => way.startsWith(`${path}/`)));
}

/** It may have become a directory since: its files would land beside the artifact. */
function onlyFile(name: string): IsCarried {
  return (path, type) => path === name && (type === 'file' || type === 'symlink');
}

/** The archive without what is not carried. Exported for its tests. */
export function filtered(archive: AsyncIterable<Uint8Array>, isCarried: IsCarried): AsyncIterable<Uint8Array> {
  const extract = tar.extract();
  const pack = tar.pack();
  Readable.from(archive)
    .on('error', (error) => extract.destroy(error))
    .pipe(extract);
  extract.on('entry', (header, stream, next) => {
    const path = header.name.replace(/^(\.?\/+)+/, '').replace(/\/+$/, '');
    if (path !== '' && !isCarried(path, header.type)) {
      stream.on('end', next);
      stream.resume();
    } else stream.pipe(pack.entry(header, next));
  });
  extract.on('finish', () => pack.finalize());
  extract.on('error', (error) => pack.destroy(error as Error));
  return blocks(pack);
}
