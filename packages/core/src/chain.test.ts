import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { JournalRecord } from '@vivarium/protocol';
import fc from 'fast-check';
import { CHAIN_START, canonicalJson, chainRecord, recordHash, verifyChain } from './chain.ts';

function build(data: Record<string, unknown>[]): JournalRecord[] {
  let prev = CHAIN_START;
  return data.map((content, seq) => {
    const record = chainRecord({ seq, at: '2026-01-01T00:00:00.000Z', type: 'state', data: content }, prev);
    prev = record.hash;
    return record;
  });
}
const contents = fc.array(fc.dictionary(fc.string(), fc.jsonValue()), { minLength: 1, maxLength: 12 });

test('an untouched chain verifies, also after a trip through JSON', () => {
  fc.assert(
    fc.property(contents, (data) => {
      const records = build(data).map((record) => JSON.parse(JSON.stringify(record)) as JournalRecord);
      assert.equal(verifyChain(records).seq, data.length - 1);
    }),
  );
});

test('any change, removal or exchange of a record breaks the chain', () => {
  fc.assert(
    fc.property(contents, fc.nat(), fc.constantFrom('change', 'remove', 'swap'), (data, at, how) => {
      const records = build(data);
      const index = at % records.length;
      if (how === 'change') records[index] = { ...records[index]!, data: { ...records[index]!.data, forged: 1 } };
      else if (how === 'remove') {
        if (index === records.length - 1) return;
        records.splice(index, 1);
      } else {
        if (records.length < 2) return;
        const other = (index + 1) % records.length;
        [records[index], records[other]] = [records[other]!, records[index]!];
      }
      assert.throws(() => verifyChain(records), { code: 'internal', message: /chain breaks at record/ });
    }),
  );
});

test('canonical JSON does not depend on the order of keys and drops what is undefined', () => {
  assert.equal(
    canonicalJson({ b: 1, a: [undefined, { d: null, c: 'é' }], e: undefined }),
    '{"a":[null,{"c":"é","d":null}],"b":1}',
  );
});

test('the hash of a known record never changes', () => {
  const record = {
    seq: 0,
    at: '2026-01-01T00:00:00.000Z',
    type: 'state' as const,
    data: { state: 'running' },
    prev: CHAIN_START,
  };
  assert.equal(recordHash(record), recordHash({ ...record, hash: 'ignored' }));
  assert.equal(recordHash(record), '35c8ad87ab194729bad0142496866083b209cdb23f9444bf9dbe4c3d0ff2f992');
});
