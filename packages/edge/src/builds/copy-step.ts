import { baseOf, type CopyAction, type FileNode, parentOf, type Source } from '@vivarium/builder';
import { VivError } from '@vivarium/protocol';
import type { Cell } from '../cell/cell.ts';
import type { TarEntry } from '../files/tar/tar-entry.ts';
import { beneath } from '../files/unarchive.ts';
import { archiveMembers } from './archive-source.ts';
import { type Ids, idsOf } from './owner.ts';
import { type Attributes, Placing, readSmall, SMALL_BYTES, utf8 } from './placing.ts';

const ROOT: Ids = { uid: 0, gid: 0 };

/** Carries out a COPY or ADD in the sandbox of its step. Throws `build_failed` for what can't be put where it should. */
export async function copyInto(cell: Cell, action: CopyAction, signal: AbortSignal): Promise<void> {
  const sources = await action.sources();
  const owner = action.owner === null ? null : await idsOf(cell, action.owner);
  await putSources(cell, sources, { ...action, owner, signal });
}

export type Putting = {
  /** Absolute. */
  target: string;
  intoDirectory: boolean;
  owner: Ids | null;
  mode: number | null;
  extracts: boolean;
  signal: AbortSignal;
};

/** Puts sources at a target, by the rules of COPY. */
export async function putSources(cell: Cell, sources: readonly Source[], putting: Putting): Promise<void> {
  const { owner, mode, signal } = putting;
  const placing = new Placing(cell, signal);
  const target = Buffer.from(putting.target, 'utf8').toString('latin1');
  const type = await placing.type(target);
  const isDirectory = type === 'dir' || putting.intoDirectory || sources.length > 1;
  for (const source of sources) {
    const made = owner ?? ROOT;
    if (putting.extracts && !source.isDirectory && source.entries[0]) {
      const members = await archiveMembers(source.entries[0].node);
      if (members) {
        await placing.makeDirectories(target, made);
        await extract(placing, members, target, { owner, mode });
        continue;
      }
    }
    const nested = source.name.includes('/');
    const to = (source.isDirectory && !nested) || !isDirectory ? target : joined(target, source.name);
    if (source.isDirectory && type === 'other')
      throw new VivError('build_failed', `${utf8(target)} is there and is no directory`);
    await placing.makeDirectories(source.isDirectory ? to : `/${parentOf(to.slice(1))}`, made);
    for (const { path, node } of source.entries) {
      // The directory that is copied gives its content, not itself.
      if (path === '' && node.type === 'dir') continue;
      await placing.place(path === '' ? to : joined(to, path), node, { owner, mode });
    }
  }
  await placing.finish();
}

async function extract(
  placing: Placing,
  members: AsyncIterable<{ entry: TarEntry; content: AsyncIterable<Uint8Array> }>,
  target: string,
  attributes: Attributes,
): Promise<void> {
  for await (const { entry, content } of members) {
    const name = beneath(entry.name)?.toString('latin1').slice(2);
    if (name === undefined) continue;
    const path = joined(target, name);
    await placing.makeDirectories(`/${parentOf(path.slice(1))}`, attributes.owner ?? ROOT);
    if (entry.type === 'link') {
      const existing = beneath(entry.link)?.toString('latin1').slice(2);
      if (existing === undefined)
        throw new VivError('build_failed', `the archive's entry ${baseOf(utf8(path))} is a link to nothing`);
      await placing.link(path, joined(target, existing));
      continue;
    }
    const { type, mode, uid, gid, mtimeNs, size } = entry;
    const link = entry.link.toString('latin1');
    // A small file is written while the next member is read already.
    const small = size <= SMALL_BYTES ? [await readSmall({ read: () => content })] : null;
    const read = small ? () => inTurn(small) : () => content;
    const node: FileNode = { type, mode, uid, gid, mtimeNs, size, link, digest: '', read };
    await placing.place(path, node, attributes);
  }
}

async function* inTurn(chunks: readonly Uint8Array[]): AsyncGenerator<Uint8Array> {
  yield* chunks;
}

function joined(directory: string, name: string): string {
  return directory === '/' ? `/${name}` : `${directory}/${name}`;
}
