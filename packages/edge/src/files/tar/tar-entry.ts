/** What a tar can hold that a sandbox's file system takes. */
export type TarType = 'file' | 'dir' | 'symlink' | 'link';

/** One member of an archive. Names are bytes. Times in whole nanoseconds. */
export type TarEntry = {
  type: TarType;
  name: Buffer;
  /** Of symbolic and hard links. */
  link: Buffer;
  /** Permission bits, 0o7777. */
  mode: number;
  uid: number;
  gid: number;
  size: number;
  mtimeNs: bigint;
};

export const BLOCK_BYTES = 512;

/** Type flags of ustar, pax and GNU tar (tar(5)). */
export const FLAG = {
  file: 0x30,
  link: 0x31,
  symlink: 0x32,
  dir: 0x35,
  contiguous: 0x37,
  paxGlobal: 0x67,
  pax: 0x78,
  gnuLongLink: 0x4b,
  gnuLongName: 0x4c,
  gnuVolume: 0x56,
} as const;
