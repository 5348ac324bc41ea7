import type { Inode } from '../erofs/inode.ts';

const S_IFCHR = 0o020000;

/** What hides a name of the layers below: the character device 0/0 (overlayfs.rst). Always the same, whoever deleted and when. */
export function whiteout(): Inode {
  return { mode: S_IFCHR, uid: 0, gid: 0, mtimeNs: 0n, xattrs: [], content: { type: 'special' } };
}
