import type { Entry, Inode, Xattr } from '../../erofs/inode.ts';
import type { Metadata } from '../../pack/change-tree.ts';
import { LowerDirectory } from '../../pack/lower.ts';
import { metadataOf } from '../../pack/upper-file.ts';
import { whiteout } from '../../pack/whiteout.ts';

const S_IFDIR = 0o040000;
const OPAQUE: Xattr = { name: 'trusted.overlay.opaque', value: Buffer.from('y') };

/** A directory of a layer that is being read. Names are bytes, one character each. */
export type DirectoryNode = {
  /** As the archive says; null: it only leads to something. */
  own: Metadata | null;
  children: Map<string, DirectoryNode | Inode>;
  /** Names that the layer deletes. */
  deleted: Set<string>;
  opaque: boolean;
  /** What the layers below have here; undefined: not looked up. */
  lower: LowerDirectory | undefined;
  parent: DirectoryNode | null;
  name: string;
};

export function isDirectory(node: DirectoryNode | Inode): node is DirectoryNode {
  return 'children' in node;
}

/** One layer as a tree, over the layers below it. Remembers whether those had a say in what it is. */
export class LayerTree {
  readonly root: DirectoryNode;
  /** Something depends on the layers below: the layer is right only over them. */
  usesLower = false;

  constructor(lower: LowerDirectory) {
    this.root = newDirectory('', null);
    this.root.lower = lower;
  }

  /** A directory, made if it is not there. Whatever else had the name is gone. */
  directory(parent: DirectoryNode, name: string): DirectoryNode {
    const there = parent.children.get(name);
    if (there && isDirectory(there)) return there;
    const made = newDirectory(name, parent);
    parent.children.set(name, made);
    return made;
  }

  /** What the layers below have under a name, as long as nothing here is in its way. */
  lookupLower(parent: DirectoryNode, name: string): ReturnType<LowerDirectory['lookup']> {
    this.usesLower = true;
    return this.#lowerOf(parent).lookup(Buffer.from(name, 'latin1'));
  }

  /** The tree as it is to be written. */
  finish(): Inode {
    return this.#inode(this.root);
  }

  #lowerOf(directory: DirectoryNode): LowerDirectory {
    directory.lower ??=
      directory.parent === null
        ? LowerDirectory.NONE
        : (this.#lowerOf(directory.parent).lookup(Buffer.from(directory.name, 'latin1'))?.directory ??
          LowerDirectory.NONE);
    return directory.lower;
  }

  #inode(directory: DirectoryNode): Inode {
    const { children, deleted } = directory;
    if (directory.parent === null && directory.opaque) this.#deleteAll(directory);
    const entries: Entry[] = [];
    for (const [name, child] of children) {
      if (isDirectory(child) && deleted.has(name)) child.opaque = true;
      entries.push({ name: Buffer.from(name, 'latin1'), inode: isDirectory(child) ? this.#inode(child) : child });
    }
    for (const name of deleted) {
      if (children.has(name)) continue;
      const isBelow = this.lookupLower(directory, name) !== undefined;
      if (isBelow && !directory.opaque) entries.push({ name: Buffer.from(name, 'latin1'), inode: whiteout() });
    }
    entries.sort((a, b) => Buffer.compare(a.name, b.name));
    const metadata = directory.own ?? this.#implied(directory);
    const xattrs = directory.opaque ? [...metadata.xattrs, OPAQUE] : metadata.xattrs;
    return { ...metadata, xattrs, content: { type: 'directory', entries } };
  }

  /** The root can't be opaque (it is no name in a directory): what lies below is deleted by name. */
  #deleteAll(root: DirectoryNode): void {
    root.opaque = false;
    this.usesLower = true;
    for (const name of this.#lowerOf(root).names()) root.deleted.add(name.toString('latin1'));
  }

  /** A directory that is not named in the archive stays as it is below. */
  #implied({ parent, name }: DirectoryNode): Metadata {
    const lower = parent && this.lookupLower(parent, name);
    if (lower?.stat.isDirectory()) return metadataOf(lower.path, lower.stat, 0);
    return { mode: S_IFDIR | 0o755, uid: 0, gid: 0, mtimeNs: 0n, xattrs: [] };
  }
}

function newDirectory(name: string, parent: DirectoryNode | null): DirectoryNode {
  return { own: null, children: new Map(), deleted: new Set(), opaque: false, lower: undefined, parent, name };
}
