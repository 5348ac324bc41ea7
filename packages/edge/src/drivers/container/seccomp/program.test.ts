import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { ALLOW, encode, fail, load, ret, search } from './bpf.ts';
import { runFilter } from './bpf-machine.ts';
import { assemble, seccompProgram } from './program.ts';
import { ALLOWED, CONDITIONAL, DENIED } from './syscalls.ts';

const X86_64 = 0xc000003e;
const I386 = 0x40000003;
const EPERM = fail(1);
const ENOSYS = fail(38);
const program = assemble();

const call = (number: number, ...args: (number | bigint)[]) => {
  const words = Array.from({ length: 6 }, (_, index) => BigInt(args[index] ?? 0));
  return runFilter(program, { number, arch: X86_64, args: words });
};

test('every listed call is allowed or refused as listed, every other answers as unknown', () => {
  const conditional = new Set(CONDITIONAL.values());
  const allowed = new Set(ALLOWED.values());
  const denied = new Set(DENIED.values());
  for (let number = 0; number < 1024; number++) {
    if (conditional.has(number)) continue;
    const expected = allowed.has(number) ? ALLOW : denied.has(number) ? EPERM : ENOSYS;
    assert.equal(call(number), expected, `number ${number}`);
  }
});

test('no call is in two lists, and each list has its number once', () => {
  const numbers = [ALLOWED, DENIED, CONDITIONAL].flatMap((list) => [...list.values()]);
  assert.equal(new Set(numbers).size, numbers.length);
  assert.ok(numbers.every((number) => Number.isInteger(number)));
});

test('32-bit and x32 calls, whatever their number, answer as unknown', () => {
  fc.assert(
    fc.property(fc.nat(600), (number) => {
      assert.equal(runFilter(program, { number, arch: I386, args: [0n, 0n, 0n, 0n, 0n, 0n] }), ENOSYS);
      assert.equal(call((number | 0x40000000) >>> 0), ENOSYS);
    }),
  );
});

test('upper halves of arguments, which the kernel ignores, do not get a refused call through', () => {
  fc.assert(
    fc.property(fc.bigInt({ min: 0n, max: 0xffffffffn }), (high) => {
      const upper = high << 32n;
      assert.equal(call(16, 0, upper | 0x5412n), EPERM);
      assert.equal(call(16, 0, upper | 0x50009417n), EPERM);
      assert.equal(call(56, upper | 0x10000000n), EPERM);
      assert.equal(call(41, upper | 17n), fail(97));
    }),
  );
});

test('an ioctl is refused if and only if it injects input or belongs to btrfs without copying extents', () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 0xffffffff }), (request) => {
      const copies = [0x40049409, 0x4020940d, 0xc0189436].includes(request);
      const bad = [0x5412, 0x541c].includes(request) || (((request >> 8) & 0xff) === 0x94 && !copies);
      assert.equal(call(16, 0, request), bad ? EPERM : ALLOW);
    }),
  );
  assert.equal(call(16, 0, 0x40049409), ALLOW);
});

test('clone and unshare are refused with any namespace flag, and only then', () => {
  const flags = [0x20000, 0x2000000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000];
  for (const flag of flags) {
    assert.equal(call(56, flag | 0x11), EPERM);
    assert.equal(call(272, flag), EPERM);
  }
  assert.equal(call(56, 0x3d0f00), ALLOW, 'a thread');
  assert.equal(call(56, 0x01200011), ALLOW, 'a fork');
  assert.equal(call(272, 0x80), EPERM);
  assert.equal(call(272, 0x400), ALLOW, 'CLONE_FILES');
});

test('sockets are unix, internet and the netlink of routes', () => {
  for (const family of [1, 2, 10]) assert.equal(call(41, family, 1, 0), ALLOW);
  for (const protocol of [0, 4, 9, 15]) assert.equal(call(41, 16, 3, protocol), ALLOW);
  for (const protocol of [6, 12, 16, 20]) assert.equal(call(41, 16, 3, protocol), fail(93));
  for (const family of [0, 3, 16 + 1, 38, 40, 44]) assert.equal(call(41, family, 1, 0), fail(97));
  assert.equal(call(53, 1, 1, 0), ALLOW);
  assert.equal(call(53, 2, 1, 0), fail(97));
});

test('huge pages of the host can not be taken', () => {
  assert.equal(call(9, 0, 4096, 3, 0x22, -1n & 0xffffffffn), ALLOW);
  assert.equal(call(9, 0, 4096, 3, 0x40022), fail(12));
  assert.equal(call(319, 0, 1), ALLOW);
  assert.equal(call(319, 0, 4 | (21 << 26)), fail(22));
});

test('the limit of core files can be read; setting it does nothing; others can be set', () => {
  const high = 1n << 32n;
  for (const pointer of [1, high]) {
    assert.equal(call(160, 4, pointer), fail(0));
    assert.equal(call(160, 7, pointer), ALLOW);
    assert.equal(call(302, 0, 4, 0, pointer), ALLOW);
    assert.equal(call(302, 0, 4, pointer, 0), fail(0));
    assert.equal(call(302, 0, high | 4n, pointer, 0), fail(0));
    for (const old of [1, high]) assert.equal(call(302, 0, 4, pointer, old), EPERM);
    assert.equal(call(302, 0, 7, pointer, 1), ALLOW);
  }
});

test('nobody sets limits of process 1; reading them is fine', () => {
  for (const pid of [1n, 1n | (7n << 32n)]) {
    for (const resource of [0, 4, 7, 9]) {
      assert.equal(call(302, pid, resource, 1), EPERM);
      assert.equal(call(302, pid, resource, 1n << 40n, 1), EPERM);
      assert.equal(call(302, pid, resource, 0, 1), ALLOW);
    }
  }
  for (const pid of [0, 2, 11]) assert.equal(call(302, pid, 7, 1), ALLOW);
});

test('sync(2) of the whole machine answers that all is well', () => {
  assert.equal(call(162), fail(0));
});

test('a search finds the range of every number, however many ranges there are', () => {
  fc.assert(
    fc.property(fc.uniqueArray(fc.integer({ min: 1, max: 5000 }), { maxLength: 600 }), (starts) => {
      const sorted = [0, ...starts.toSorted((a, b) => a - b)];
      const filter = search(sorted.map((from, index) => ({ from, program: [ret(index)] })));
      assert.ok(filter.every(({ jt, jf }) => jt <= 255 && jf <= 255));
      for (const [index, from] of sorted.entries()) {
        const run = (number: number) => runFilter([load(0), ...filter], { number, arch: 0, args: [] });
        assert.equal(run(from), index);
        if (index > 0) assert.equal(run(from - 1), index - 1);
      }
    }),
    { numRuns: 30 },
  );
});

test('the program has eight bytes per instruction and fits the kernel’s limit of 4,096', () => {
  assert.equal(seccompProgram().length, program.length * 8);
  assert.ok(program.length <= 4096);
  const [code, jt, jf, k] = [0x15, 1, 2, 0xfffffffe];
  assert.deepEqual([...encode([{ code, jt, jf, k }])], [0x15, 0, 1, 2, 0xfe, 0xff, 0xff, 0xff]);
});
