import assert from 'node:assert/strict';
import { test } from 'node:test';
import { VivError } from '@vivarium/protocol';
import koffi from 'koffi';
import { qgroupInherit, volumeArgs } from './btrfs.ts';
import { errnoOf, systemError } from './libc.ts';
import { loopConfig } from './loop.ts';
import { mountAttr } from './mount.ts';
import { decodeWaitStatus } from './process.ts';
import { sockaddrUnix } from './socket.ts';

test('struct mount_attr has its four words in order', () => {
  const attr = mountAttr({ set: 0x100000, clear: 2, userNamespace: 7 });
  const words = [0, 8, 16, 24].map((offset) => attr.readBigUInt64LE(offset));
  assert.deepEqual(words, [0x100000n, 2n, 0n, 7n]);
});

test('struct btrfs_ioctl_vol_args_v2 is a page with the name at its fixed place', () => {
  const inherit = qgroupInherit(1 << 20);
  const args = volumeArgs('name', { flags: 4n, fd: 9, inherit });
  assert.equal(args.length, 4096);
  assert.equal(args.readBigInt64LE(0), 9n);
  assert.equal(args.readBigUInt64LE(16), 4n);
  assert.equal(args.readBigUInt64LE(24), 72n);
  assert.equal(args.readBigUInt64LE(32), koffi.address(inherit));
  assert.equal(args.toString('latin1', 56, 61), 'name\0');
});

test('struct btrfs_qgroup_inherit sets a limit on what is referred to and inherits from nothing', () => {
  const inherit = qgroupInherit(123);
  const words = Array.from({ length: 9 }, (_, index) => inherit.readBigUInt64LE(index * 8));
  assert.deepEqual(words, [1n, 0n, 0n, 0n, 1n, 123n, 0n, 0n, 0n]);
});

test('struct loop_config carries descriptor, block size, flags and the end of a long file name', () => {
  const config = loopConfig(5, `/${'x'.repeat(100)}/scratch.btrfs`, { readonly: false, directIo: true });
  assert.equal(config.length, 304);
  assert.equal(config.readUInt32LE(0), 5);
  assert.equal(config.readUInt32LE(4), 4096);
  assert.equal(config.readUInt32LE(60), 4 | 16);
  assert.match(config.toString('latin1', 64, 128), /x+\/scratch\.btrfs\0$/);
  assert.equal(loopConfig(5, '/f', { readonly: true, directIo: false }).readUInt32LE(60), 4 | 1);
});

test('struct sockaddr_un ends in a zero, and a path that does not fit is refused', () => {
  const address = sockaddrUnix('/run/x.sock');
  assert.equal(address.readUInt16LE(0), 1);
  assert.equal(address.toString('latin1', 2), '/run/x.sock\0');
  assert.equal(sockaddrUnix('p'.repeat(107)).length, 110);
  assert.throws(() => sockaddrUnix('p'.repeat(108)), VivError);
});

test('a wait status is an exit code or a signal', () => {
  assert.deepEqual(decodeWaitStatus(3 << 8), { exitCode: 3, signal: null });
  assert.deepEqual(decodeWaitStatus(9), { exitCode: null, signal: 9 });
  assert.deepEqual(decodeWaitStatus(0x80 | 11), { exitCode: null, signal: 11 });
});

test('a failed system call is an error that names call, object and errno', () => {
  const error = systemError('mount', 'a on b', 13);
  assert.equal(error.message, 'mount a on b: EACCES');
  assert.equal(errnoOf(error), 'EACCES');
  assert.equal(errnoOf(Object.assign(new Error(), { code: 'ENOENT' })), 'ENOENT');
  assert.equal(errnoOf(new Error()), undefined);
});
