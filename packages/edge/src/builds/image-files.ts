import { type FileNode, FileTree } from '@vivarium/builder';
import { VivError } from '@vivarium/protocol';
import { isPattern } from '@vivarium/protocol/path-pattern.ts';
import type { Cell } from '../cell/cell.ts';
import type { CellEntry } from '../cell/entry.ts';
import { bytes } from './placing.ts';

const ENTRIES_MAX = 500_000;

/** Reads into a tree what the sources name in a sandbox, with the directories' content. What is not there is not in the tree. */
export async function readFiles(cell: Cell, sources: readonly string[], signal: AbortSignal): Promise<FileTree> {
  const tree = new FileTree();
  for (const source of sources) await readSource(cell, fixedPart(source), tree, signal);
  return tree;
}

/** The path up to the first part that is a pattern. */
function fixedPart(source: string): string {
  const parts: string[] = [];
  for (const part of Buffer.from(source, 'utf8').toString('latin1').split('/')) {
    if (isPattern(part)) break;
    if (part === '..') parts.pop();
    else if (part !== '' && part !== '.') parts.push(part);
  }
  return parts.join('/');
}

async function readSource(cell: Cell, path: string, tree: FileTree, signal: AbortSignal): Promise<void> {
  const root = await statOrNull(cell, `/${path}`, signal);
  if (!root) return;
  if (root.type !== 'dir') return add(cell, tree, path, root, signal);
  for await (const entry of cell.list(bytes(`/${path}`), { depth: 0, self: true, signal })) {
    if (tree.size >= ENTRIES_MAX)
      throw new VivError('build_failed', `/${path} has more than ${ENTRIES_MAX} entries`, {
        details: { maximum: ENTRIES_MAX },
      });
    const name = entry.name.toString('latin1');
    const inside = name === '.' ? path : path === '' ? name : `${path}/${name}`;
    if (inside !== '' || name === '.') add(cell, tree, inside, entry, signal);
  }
}

/** A source that is a link is what it leads to. */
async function statOrNull(cell: Cell, path: string, signal: AbortSignal): Promise<CellEntry | null> {
  try {
    return await cell.stat(bytes(path), { follow: true, signal });
  } catch (thrown) {
    const { code } = VivError.from(thrown);
    if (code === 'path_not_found' || code === 'not_directory') return null;
    throw thrown;
  }
}

function add(cell: Cell, tree: FileTree, path: string, entry: CellEntry, signal: AbortSignal): void {
  const { type, mode, uid, gid, mtimeNs, size, target } = entry;
  if (path === '' || (type !== 'file' && type !== 'dir' && type !== 'symlink')) return;
  const node: FileNode = {
    type,
    mode,
    uid,
    gid,
    mtimeNs,
    size: type === 'file' ? size : 0,
    link: target?.toString('latin1') ?? '',
    digest: '',
    read: () => content(cell, `/${path}`, signal),
  };
  tree.set(path, node);
}

async function* content(cell: Cell, path: string, signal: AbortSignal): AsyncGenerator<Uint8Array> {
  const { stream } = await cell.read(bytes(path), { signal });
  yield* stream as AsyncIterable<Uint8Array>;
}
