import assert from 'node:assert/strict';
import { test } from 'node:test';
import { E2bMakeQuery, E2bMetadata } from './e2b/volume.ts';
import { VolumeUnarchiveQuery, VolumeWriteQuery } from './volume.ts';

const NOT_DIGITS = ['', ' ', '0x0', '1e3', '-1', '1.0', '+1', 'root', '65536'];

test('an owner in a query is written in digits: nothing is not root', () => {
  for (const query of [VolumeWriteQuery, VolumeUnarchiveQuery, E2bMakeQuery]) {
    for (const field of ['uid', 'gid']) {
      const parsed = (text: string) => query.safeParse({ path: '/a', [field]: text });
      for (const text of NOT_DIGITS) assert.equal(parsed(text).success, false, `${field}=${text}`);
      assert.partialDeepStrictEqual(parsed('1000').data, { [field]: 1000 });
      assert.partialDeepStrictEqual(parsed('0').data, { [field]: 0 });
    }
  }
});

test('a mode in a query is written in digits, of which the permission bits count', () => {
  for (const mode of NOT_DIGITS.slice(0, -1))
    assert.equal(E2bMakeQuery.safeParse({ path: '/a', mode }).success, false, mode);
  assert.equal(E2bMakeQuery.parse({ path: '/a', mode: String(0o100644) }).mode, 0o644);
});

test('attributes in a body are numbers and nothing that could be made one', () => {
  for (const field of ['uid', 'gid', 'mode']) {
    for (const value of [false, [], '', '0', -1, 1.5])
      assert.equal(E2bMetadata.safeParse({ [field]: value }).success, false);
    assert.equal(E2bMetadata.parse({ [field]: null })[field as 'uid'], null);
    assert.equal(E2bMetadata.parse({ [field]: 7 })[field as 'uid'], 7);
  }
});
