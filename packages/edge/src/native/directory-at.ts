import { checked, libc } from './libc.ts';

const AT_SYMLINK_NOFOLLOW = 0x100;

const mkdirCall = checked<[number, string, number]>(
  'mkdirat',
  libc.func('mkdirat', 'int', ['int', 'str', 'uint']),
  (_fd, name) => name,
);
const chownCall = checked<[number, string, number, number, number]>(
  'fchownat',
  libc.func('fchownat', 'int', ['int', 'str', 'uint', 'uint', 'int']),
  (_fd, name) => name,
);

/** Makes a directory of that owner in the one that `directory` is a descriptor of (mkdirat(2), fchownat(2)). */
export function makeDirectoryAt(directory: number, name: string, mode: number, owner: number): void {
  mkdirCall(directory, name, mode);
  chownCall(directory, name, owner, owner, AT_SYMLINK_NOFOLLOW);
}
