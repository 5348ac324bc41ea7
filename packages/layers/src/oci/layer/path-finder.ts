import { readlinkSync } from 'node:fs';
import type { LowerDirectory } from '../../pack/lower.ts';
import { Refusal } from '../refusal.ts';
import { type DirectoryNode, isDirectory, type LayerTree } from './layer-tree.ts';

const NAME_MAX = 255;
/** As many links as the kernel follows (path_resolution(7)). */
const LINKS_MAX = 40;

/** The names of a member's path, a byte a character. `..` leads nowhere good: it is refused. */
export function splitPath(path: Buffer, what: string): string[] {
  const shown = () => path.toString('utf8').slice(0, 200);
  if (path.includes(0)) throw new Refusal('invalid_image', `the layer's ${what} ${shown()} has a NUL byte in its name`);
  const names = path
    .toString('latin1')
    .split('/')
    .filter((name) => name !== '' && name !== '.');
  if (names.includes('..')) throw new Refusal('path_escapes', `the layer's ${what} ${shown()} leads out of it`);
  const long = names.find((name) => name.length > NAME_MAX);
  if (long !== undefined)
    throw new Refusal('invalid_image', `the layer's ${what} ${shown()} has a name longer than ${NAME_MAX} bytes`);
  return names;
}

/** A directory as a path leads to it: in the layer, below it, or both. */
export type Place = {
  node: DirectoryNode | undefined;
  lookupLower(name: string): ReturnType<LowerDirectory['lookup']>;
};

/** Follows paths through a layer and the layers below it, as a process in the image would: links never lead out of it. */
export class PathFinder {
  readonly #tree: LayerTree;
  readonly #maxDepth: number;
  readonly #onDirectory: () => void;

  constructor(tree: LayerTree, maxDepth: number, onDirectory: () => void) {
    this.#tree = tree;
    this.#maxDepth = maxDepth;
    this.#onDirectory = onDirectory;
  }

  /** The directory of these names; what is missing is made. A file that is in the way gives way, as when a layer is unpacked. */
  make(names: readonly string[]): DirectoryNode {
    const wanted = [...names].reverse();
    const way = [this.#tree.root];
    for (let links = 0; wanted.length > 0; ) {
      const name = wanted.pop()!;
      if (name === '..') {
        if (way.length > 1) way.pop();
        continue;
      }
      const at = way.at(-1)!;
      const target = this.#linkAt(at, name);
      if (target === null) {
        if (way.length >= this.#maxDepth)
          throw new Refusal('invalid_image', `the layer has directories deeper than ${this.#maxDepth}`);
        if (!at.children.has(name)) this.#onDirectory();
        way.push(this.#tree.directory(at, name));
        continue;
      }
      if (++links > LINKS_MAX)
        throw new Refusal('invalid_image', `too many symbolic links on the way to ${names.join('/').slice(0, 200)}`);
      if (target.startsWith('/')) way.length = 1;
      wanted.push(...namesOf(target).reverse());
      if (wanted.length > 2 * this.#maxDepth + NAME_MAX)
        throw new Refusal('invalid_image', `the way to ${names.join('/').slice(0, 200)} is too long`);
    }
    return way.at(-1)!;
  }

  /** The same without making anything; undefined when it is no directory. */
  find(names: readonly string[]): Place | undefined {
    const wanted = [...names].reverse();
    const way: Place[] = [this.#placeOf(this.#tree.root)];
    for (let links = 0; wanted.length > 0; ) {
      const name = wanted.pop()!;
      if (name === '..') {
        if (way.length > 1) way.pop();
        continue;
      }
      const at = way.at(-1)!;
      const child = at.node?.children.get(name);
      const lower = child ? undefined : at.lookupLower(name);
      const target = child ? linkOf(child) : lowerLink(lower);
      if (target !== null) {
        if (++links > LINKS_MAX || wanted.length > this.#maxDepth) return undefined;
        if (target.startsWith('/')) way.length = 1;
        wanted.push(...namesOf(target).reverse());
      } else if (child && isDirectory(child)) way.push(this.#placeOf(child));
      else if (lower?.stat.isDirectory())
        way.push({ node: undefined, lookupLower: (each) => lower.directory.lookup(Buffer.from(each, 'latin1')) });
      else return undefined;
    }
    return way.at(-1);
  }

  #placeOf(node: DirectoryNode): Place {
    return { node, lookupLower: (name) => this.#tree.lookupLower(node, name) };
  }

  /** Where a symbolic link of that name leads; null when there is none. */
  #linkAt(at: DirectoryNode, name: string): string | null {
    const child = at.children.get(name);
    return child ? linkOf(child) : lowerLink(this.#tree.lookupLower(at, name));
  }
}

function linkOf(node: Parameters<typeof isDirectory>[0]): string | null {
  return !isDirectory(node) && node.content.type === 'symlink' ? node.content.target.toString('latin1') : null;
}

function lowerLink(lower: ReturnType<LowerDirectory['lookup']>): string | null {
  return lower?.stat.isSymbolicLink() ? readlinkSync(lower.path, { encoding: 'buffer' }).toString('latin1') : null;
}

function namesOf(target: string): string[] {
  return target.split('/').filter((name) => name !== '' && name !== '.');
}
