import { closeSync, openSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { checked, errnoOf, libc } from './libc.ts';

/** ioctl numbers and flags of linux/loop.h. */
const LOOP_CTL_GET_FREE = 0x4c82;
const LOOP_CONFIGURE = 0x4c0a;
const LOOP_GET_STATUS64 = 0x4c05;
const LO_FLAGS_READ_ONLY = 1;
const LO_FLAGS_AUTOCLEAR = 4;
const LO_FLAGS_DIRECT_IO = 16;
const CONFIG_BYTES = 304;
const INFO_BYTES = 232;
const FLAGS_OFFSET = 8 + 52;
const FILE_NAME_OFFSET = 8 + 56;
/** How often another process may take the free device before we do. */
const ATTEMPTS_MAX = 64;

const ioctl = checked<[number, number, Buffer | null]>(
  'ioctl',
  libc.func('ioctl', 'int', ['int', 'ulong', 'void *']),
  (_fd, request) => `loop 0x${request.toString(16)}`,
);

export type LoopOptions = { readonly: boolean; directIo: boolean };

/**
 * Attaches a file to a free loop device (loop(4)) that frees itself when nothing has it mounted or open any more. The
 * caller mounts `path` and then closes `fd`.
 */
export function attachLoop(file: string, options: LoopOptions): { path: string; fd: number } {
  const backing = openSync(file, options.readonly ? 'r' : 'r+');
  try {
    for (let attempt = 1; ; attempt++) {
      try {
        return configure(backing, file, options);
      } catch (error) {
        const errno = errnoOf(error);
        if (options.directIo && errno === 'EINVAL') return attachLoop(file, { ...options, directIo: false });
        if (errno !== 'EBUSY' || attempt >= ATTEMPTS_MAX) throw error;
      }
    }
  } finally {
    closeSync(backing);
  }
}

/** The loop device that has this file (by inode), if there is one. */
export function findLoop(file: string): string | undefined {
  const { dev, ino } = statSync(file, { bigint: true });
  for (const name of readdirSync('/sys/block')) {
    if (!/^loop\d+$/.test(name) || !isAttached(name)) continue;
    const fd = openSync(`/dev/${name}`, 'r');
    try {
      const info = Buffer.alloc(INFO_BYTES);
      ioctl(fd, LOOP_GET_STATUS64, info);
      if (info.readBigUInt64LE(8) === ino && sameDevice(info.readBigUInt64LE(0), dev)) return `/dev/${name}`;
    } catch (error) {
      if (errnoOf(error) !== 'ENXIO') throw error;
    } finally {
      closeSync(fd);
    }
  }
  return undefined;
}

/** `struct loop_config` with the flags and, for people, the file's name. */
export function loopConfig(backing: number, file: string, options: LoopOptions): Buffer {
  const config = Buffer.alloc(CONFIG_BYTES);
  config.writeUInt32LE(backing, 0);
  config.writeUInt32LE(options.directIo ? 4096 : 0, 4);
  const flags =
    LO_FLAGS_AUTOCLEAR | (options.readonly ? LO_FLAGS_READ_ONLY : 0) | (options.directIo ? LO_FLAGS_DIRECT_IO : 0);
  config.writeUInt32LE(flags, FLAGS_OFFSET);
  config.write(file.slice(-63), FILE_NAME_OFFSET);
  return config;
}

function configure(backing: number, file: string, options: LoopOptions): { path: string; fd: number } {
  const control = openSync('/dev/loop-control', 'r+');
  let path: string;
  try {
    path = `/dev/loop${ioctl(control, LOOP_CTL_GET_FREE, null)}`;
  } finally {
    closeSync(control);
  }
  const fd = openSync(path, 'r+');
  try {
    ioctl(fd, LOOP_CONFIGURE, loopConfig(backing, file, options));
    return { path, fd };
  } catch (error) {
    closeSync(fd);
    throw error;
  }
}

function isAttached(name: string): boolean {
  try {
    return readFileSync(`/sys/block/${name}/loop/backing_file`, 'utf8').length > 0;
  } catch {
    return false;
  }
}

/** The kernel's own encoding of a device number (new_encode_dev of the driver) against that of stat(2). */
function sameDevice(kernel: bigint, stat: bigint): boolean {
  return kernel === stat || huge(kernel) === huge(stat);
}

function huge(dev: bigint): bigint {
  return dev & 0xffffffffn;
}
