import { closeSync, rmSync } from 'node:fs';
import { VivError } from '@vivarium/protocol';
import { checked, libc } from './libc.ts';

const AF_UNIX = 1;
const SOCK_STREAM = 1;
const SOCK_CLOEXEC = 0o2000000;
/** sockaddr_un(7): `sun_path` holds 108 bytes with its terminating zero. */
const PATH_BYTES_MAX = 107;

const socketCall = checked<[number, number, number]>(
  'socket',
  libc.func('socket', 'int', ['int', 'int', 'int']),
  () => 'AF_UNIX',
);
const bindCall = checked<[number, Buffer, number]>(
  'bind',
  libc.func('bind', 'int', ['int', 'void *', 'uint']),
  (_fd, address) => address.subarray(2, address.indexOf(0, 2)).toString(),
);
const listenCall = checked<[number, number]>('listen', libc.func('listen', 'int', ['int', 'int']), (fd) => `fd ${fd}`);

/** A listening unix stream socket at `path` (a stale one is replaced). The caller closes the descriptor. */
export function listenUnix(path: string, backlog: number): number {
  const address = sockaddrUnix(path);
  rmSync(path, { force: true });
  const fd = socketCall(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  try {
    bindCall(fd, address, address.length);
    listenCall(fd, backlog);
    return fd;
  } catch (error) {
    closeSync(fd);
    throw error;
  }
}

/** `struct sockaddr_un`: the family, then the path and a zero. */
export function sockaddrUnix(path: string): Buffer {
  const bytes = Buffer.from(path);
  if (bytes.length > PATH_BYTES_MAX)
    throw new VivError('invalid_argument', `socket path longer than ${PATH_BYTES_MAX} bytes: ${path}`, {
      hint: 'Use a shorter run directory.',
    });
  const address = Buffer.alloc(2 + bytes.length + 1);
  address.writeUInt16LE(AF_UNIX, 0);
  bytes.copy(address, 2);
  return address;
}
