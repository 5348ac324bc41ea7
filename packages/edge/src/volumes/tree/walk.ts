import type { Dirent } from 'node:fs';
import { type FileHandle, opendir } from 'node:fs/promises';
import { VivError } from '@vivarium/protocol';
import { itself, openDirectory } from './descent.ts';
import { entryOf, look, type VolumeEntry } from './entry.ts';
import { named } from './failure.ts';
import { pathOf } from './names.ts';

/** Names of a directory that are read, sorted and given on at a time: a small one comes in order. */
const BATCH = 10_000;
const LOOKS_AT_ONCE = 64;
/** Directories still to be read, and how deep they may lie. */
const WAITING_MAX = 1_000_000;
const LEVELS_MAX = 256;

export type WalkOptions = {
  /** 1: direct children; 0: everything. */
  depth: number;
  /** Begin with the directory itself, named `.`. */
  self?: boolean;
  signal?: AbortSignal | undefined;
};

/**
 * What lies in a directory of a volume; names are relative to it, parents come before children. Two descriptors are open at a time,
 * however deep it goes. What goes away meanwhile is left out.
 */
export async function* walk(
  root: string,
  names: readonly Buffer[],
  { depth, self, signal }: WalkOptions,
): AsyncGenerator<VolumeEntry, void, undefined> {
  const waiting: Buffer[][] = [[]];
  for (let next = waiting.pop(); next; next = waiting.pop()) {
    const relative: Buffer[] = next;
    const directory = await open(root, names, relative);
    if (!directory) continue;
    const below: Buffer[] = [];
    try {
      if (self && relative.length === 0) yield entryOf(Buffer.from('.'), await directory.stat({ bigint: true }), null);
      for await (const batch of batches(directory)) {
        signal?.throwIfAborted();
        for (const entry of await entriesOf(directory, relative, batch)) {
          yield entry;
          if (entry.type === 'dir' && relative.length + 1 !== depth) below.push(lastOf(entry.name));
        }
        if (waiting.length + below.length > WAITING_MAX) throw tooMuch(names, relative, `${WAITING_MAX} directories`);
      }
    } finally {
      await directory.close();
    }
    if (below.length > 0 && relative.length + 1 >= LEVELS_MAX) throw tooMuch(names, relative, `${LEVELS_MAX} levels`);
    for (const name of below.reverse()) waiting.push([...relative, name]);
  }
}

/** The first one must be there; those below may have gone. */
async function open(root: string, names: readonly Buffer[], relative: Buffer[]): Promise<FileHandle | undefined> {
  const all = [...names, ...relative];
  if (relative.length === 0) return named(all, () => openDirectory(root, all));
  return openDirectory(root, all).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return undefined;
    throw error;
  });
}

async function entriesOf(directory: FileHandle, relative: Buffer[], batch: Buffer[]): Promise<VolumeEntry[]> {
  const shown = (name: Buffer) => (relative.length === 0 ? name : pathOf([...relative, name]).subarray(1));
  const found: VolumeEntry[] = [];
  for (let from = 0; from < batch.length; from += LOOKS_AT_ONCE) {
    const part = batch.slice(from, from + LOOKS_AT_ONCE);
    const entries = await Promise.all(part.map((name) => look(directory, name, shown(name))));
    found.push(...entries.filter((entry) => entry !== undefined));
  }
  return found;
}

async function* batches(directory: FileHandle): AsyncGenerator<Buffer[]> {
  const names: Buffer[] = [];
  const flush = () => names.splice(0).sort(Buffer.compare);
  for await (const name of namesIn(itself(directory))) {
    names.push(name);
    if (names.length === BATCH) yield flush();
  }
  if (names.length > 0) yield flush();
}

/** The names in a directory, as bytes. */
export async function* namesIn(path: string): AsyncGenerator<Buffer> {
  // @types/node knows `encoding: 'buffer'` of readdir only.
  const options = { encoding: 'buffer', bufferSize: 256 } as unknown as { bufferSize: number };
  for await (const { name } of (await opendir(path, options)) as unknown as AsyncIterable<Dirent<Buffer>>) yield name;
}

function lastOf(name: Buffer): Buffer {
  return name.subarray(name.lastIndexOf(0x2f) + 1);
}

function tooMuch(names: readonly Buffer[], relative: readonly Buffer[], what: string): VivError {
  const path = pathOf([...names, ...relative]).toString();
  return new VivError('file_error', `${path} has more than ${what}`, { details: { path: path.slice(0, 1000) } });
}
