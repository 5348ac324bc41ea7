import assert from 'node:assert/strict';
import { test } from 'node:test';
import { VivError } from '@vivarium/protocol';
import fc from 'fast-check';
import { FRAME, HEADER_BYTES, isViolation, OTHER_BYTES_MAX } from './frame.ts';
import { eachTlv, TlvFrame } from './tlv.ts';

const items = (list: Buffer): [number, string][] => {
  const found: [number, string][] = [];
  eachTlv(list, (tag, value) => found.push([tag, value.toString('hex')]));
  return found;
};

test('what is put into a list comes out of it', () => {
  const item = fc.tuple(fc.nat(0xffff), fc.uint8Array({ maxLength: 500 }));
  fc.assert(
    fc.property(fc.array(item, { maxLength: 10 }), (list) => {
      const frame = new TlvFrame(FRAME.SPAWN, true);
      for (const [tag, value] of list) frame.bytes(tag, value);
      const built = frame.finish(5);
      assert.equal(built.readUInt32LE(0), built.length - HEADER_BYTES);
      assert.equal(built.readUInt32LE(8), 5);
      const expected = list.map(([tag, value]) => [tag, Buffer.from(value).toString('hex')]);
      assert.deepEqual(items(built.subarray(HEADER_BYTES)), expected);
    }),
  );
});

test('a large request grows the scratch without harm to what is in it', () => {
  const frame = new TlvFrame(FRAME.SPAWN, true);
  for (let i = 0; i < 60; i++) frame.text(1, String(i).repeat(5000));
  const found = items(frame.finish(1).subarray(HEADER_BYTES));
  assert.equal(found.length, 60);
  assert.equal(Buffer.from(found[59]?.[1] ?? '', 'hex').toString(), '59'.repeat(5000));
});

test('a malformed list is a violation, never another error', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 60 }), (bytes) => {
      try {
        items(Buffer.from(bytes));
      } catch (error) {
        assert.ok(isViolation(error), String(error));
      }
    }),
  );
});

test('a request above its limit is refused', () => {
  assert.throws(() => new TlvFrame(FRAME.FILE).bytes(2, new Uint8Array(OTHER_BYTES_MAX)), VivError);
});

test('NUL in text and in raw paths is refused', () => {
  assert.throws(() => new TlvFrame(FRAME.FILE).text(2, 'a\0b'), /NUL/);
  assert.throws(() => new TlvFrame(FRAME.FILE).text(2, Buffer.from([97, 0])), /NUL/);
});

test('numbers outside their range are refused', () => {
  assert.throws(() => new TlvFrame(FRAME.FILE).u32(4, -1), /integer/);
  assert.throws(() => new TlvFrame(FRAME.FILE).u64(6, 1.5), /integer/);
});
