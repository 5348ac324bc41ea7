import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { JournalRecord } from '@vivarium/protocol/journal.ts';
import { CHAIN_START, recordHash, verified } from './journal-chain.ts';
import { collect } from './page.ts';

async function chain(length: number): Promise<JournalRecord[]> {
  const records: JournalRecord[] = [];
  let prev = CHAIN_START;
  for (let seq = 0; seq < length; seq++) {
    const record = {
      seq,
      at: '2026-01-01T00:00:00.000Z',
      type: 'state' as const,
      data: { b: [seq, { z: null, a: 'é' }] },
      prev,
    };
    prev = await recordHash(record);
    records.push({ ...record, hash: prev });
  }
  return records;
}

async function* stream(records: JournalRecord[]) {
  yield* records;
}

test('an untouched journal passes whole', async () => {
  const records = await chain(5);
  assert.deepEqual(await collect(verified(stream(records))), records);
});

test('the hash is the one the node computes', async () => {
  const record = {
    seq: 0,
    at: '2026-01-01T00:00:00.000Z',
    type: 'state' as const,
    data: { state: 'running' },
    prev: CHAIN_START,
  };
  assert.equal(await recordHash(record), '35c8ad87ab194729bad0142496866083b209cdb23f9444bf9dbe4c3d0ff2f992');
});

test('a changed, a missing and an exchanged record are each named', async () => {
  const records = await chain(4);
  const changed = records.map((record, i) => (i === 2 ? { ...record, data: {} } : record));
  await assert.rejects(collect(verified(stream(changed))), { message: /breaks at record 2: its content/ });
  await assert.rejects(collect(verified(stream(records.toSpliced(1, 1)))), {
    message: /breaks at record 2: expected sequence number 1/,
  });
  const forged = [...records];
  forged[3] = { ...forged[3]!, prev: CHAIN_START };
  await assert.rejects(collect(verified(stream(forged))), { message: /breaks at record 3: it does not follow/ });
});
