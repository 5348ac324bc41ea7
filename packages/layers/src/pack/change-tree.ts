import type { Directory, Entry, Inode } from '../erofs/inode.ts';

/** Images of one walk, as bits: all that changed, and the same without protected paths. */
export const WHOLE = 1;
export const SPLIT = 2;

export type Metadata = Omit<Inode, 'content'>;

/** One name of the layers to be: in the images of its bits. A directory is also where one of its children is. */
export type ChangeNode = {
  name: Buffer;
  parent: ChangeNode | null;
  images: number;
  /** Null: a directory. */
  inode: Inode | null;
  /** A directory where it is in an image itself, and where it only leads to a child. */
  own: Metadata | null;
  passing: Metadata | null;
  children: ChangeNode[];
};

/** A directory in none of the images yet. `passing`: what it looks like below, if it is a directory there. */
export function directoryNode(name: Buffer, parent: ChangeNode | null, own: Metadata | null, passing: Metadata | null) {
  const node: ChangeNode = { name, parent, images: 0, inode: null, own, passing, children: [] };
  return node;
}

export function leafNode(name: Buffer, parent: ChangeNode, images: number, inode: Inode): ChangeNode {
  return { name, parent, images, inode, own: null, passing: null, children: [] };
}

/** The names from the root to a node, without the root's. */
export function namesOf(node: ChangeNode): Buffer[] {
  const names: Buffer[] = [];
  for (let at = node; at.parent; at = at.parent) names.push(at.name);
  return names.reverse();
}

/** One image's tree, or null when it has nothing but the root. */
export function imageTree(root: ChangeNode, image: number): Inode | null {
  const inode = directoryInode(root, image);
  return (inode.content as Directory).entries.length > 0 ? inode : null;
}

function directoryInode(node: ChangeNode, image: number): Inode {
  const entries = node.children.flatMap((child) => entryOf(child, image) ?? []);
  const metadata = (node.images & image ? node.own : (node.passing ?? node.own))!;
  return { ...metadata, content: { type: 'directory', entries } };
}

function entryOf(node: ChangeNode, image: number): Entry | null {
  const { name, inode, images } = node;
  if (inode) return images & image ? { name, inode } : null;
  const directory = directoryInode(node, image);
  const { entries } = directory.content as Directory;
  return images & image || entries.length > 0 ? { name, inode: directory } : null;
}
