/** One directory entry as the guest reports it. Names are bytes. */
export type CellEntry = {
  type: 'file' | 'dir' | 'symlink' | 'fifo' | 'socket' | 'char' | 'block';
  /** Permission bits, 0o7777. */
  mode: number;
  uid: number;
  gid: number;
  nlink: number;
  ino: bigint;
  size: number;
  mtimeNs: bigint;
  rdev: bigint;
  /** Relative to what was asked for: the last component (stat …) or the path beneath the directory (list). */
  name: Buffer;
  /** Of a symlink; else null. */
  target: Buffer | null;
};
