/**
 * A file as a COPY sees it: of a build context, of another stage, or of a here-document. Paths are strings with one character per byte
 * (latin1), for names need not be UTF-8.
 */
export type FileNode = {
  type: 'file' | 'dir' | 'symlink';
  /** Permission bits, 0o7777. */
  mode: number;
  uid: number;
  gid: number;
  mtimeNs: bigint;
  size: number;
  /** Target of a symbolic link; else empty. */
  link: string;
  /** What its content is, for the cache: a digest of it, or whatever stands for it. Empty for directories and links. */
  digest: string;
  /** The content of a file, from the beginning. */
  read(): AsyncIterable<Uint8Array>;
};

const LINKS_MAX = 40;

/** A tree of files in memory (their content is elsewhere). Nothing in it can lead out of it: links are followed within it. */
export class FileTree {
  /** By path without a leading slash; the root is ''. Sorted when asked for. */
  readonly #nodes = new Map<string, FileNode>();
  #children: Map<string, string[]> | null = null;

  get size(): number {
    return this.#nodes.size;
  }

  /** Adds or replaces. Parents that are missing are made, 0755. */
  set(path: string, node: FileNode): void {
    this.#children = null;
    for (
      let parent = parentOf(path);
      parent !== '' && this.#nodes.get(parent)?.type !== 'dir';
      parent = parentOf(parent)
    )
      this.#nodes.set(parent, impliedDirectory());
    this.#nodes.set(path, node);
  }

  get(path: string): FileNode | undefined {
    return path === '' ? (this.#nodes.get('') ?? ROOT) : this.#nodes.get(path);
  }

  paths(): string[] {
    return [...this.#nodes.keys()].filter((path) => path !== '').sort();
  }

  /** Names in a directory, in byte order. */
  children(path: string): readonly string[] {
    this.#children ??= this.#index();
    return this.#children.get(path) ?? [];
  }

  /** A tree with only what passes. A directory that does not pass is there when something in it does. */
  filtered(passes: (path: string) => boolean): FileTree {
    const tree = new FileTree();
    for (const path of this.paths()) if (passes(path)) tree.set(path, this.#nodes.get(path)!);
    for (const path of tree.#nodes.keys()) tree.#nodes.set(path, this.#nodes.get(path)!);
    return tree;
  }

  /** Where a path leads when links on its way are followed (the last one too, with `follow`). Undefined: nowhere. */
  resolve(path: string, follow: boolean): string | undefined {
    let pending = path.split('/').filter((part) => part !== '' && part !== '.');
    let at = '';
    let links = 0;
    while (pending.length > 0) {
      const part = pending.shift()!;
      if (part === '..') {
        at = parentOf(at);
        continue;
      }
      const next = at === '' ? part : `${at}/${part}`;
      const node = this.#nodes.get(next);
      if (!node) return undefined;
      if (node.type !== 'symlink' || (pending.length === 0 && !follow)) {
        at = next;
        continue;
      }
      if (++links > LINKS_MAX) return undefined;
      if (node.link.startsWith('/')) at = '';
      pending = [...node.link.split('/').filter((each) => each !== '' && each !== '.'), ...pending];
    }
    return at;
  }

  #index(): Map<string, string[]> {
    const index = new Map<string, string[]>();
    for (const path of this.paths()) {
      const parent = parentOf(path);
      const names = index.get(parent);
      const name = path.slice(path.lastIndexOf('/') + 1);
      if (names) names.push(name);
      else index.set(parent, [name]);
    }
    return index;
  }
}

/** The directory a path is in; '' for the root and what is in it. */
export function parentOf(path: string): string {
  return path.slice(0, Math.max(0, path.lastIndexOf('/')));
}

/** The last part of a path. */
export function baseOf(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1);
}

const nothing = async function* (): AsyncGenerator<Uint8Array> {};

function impliedDirectory(): FileNode {
  return { type: 'dir', mode: 0o755, uid: 0, gid: 0, mtimeNs: 0n, size: 0, link: '', digest: '', read: nothing };
}
const ROOT = impliedDirectory();
