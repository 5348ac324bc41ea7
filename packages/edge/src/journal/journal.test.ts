import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, readFileSync, rmSync, truncateSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { FakeClock, verifyChain } from '@vivarium/core';
import type { JournalRecord } from '@vivarium/protocol';
import fc from 'fast-check';
import { DescriptorCache } from './descriptor-cache.ts';
import { Journal } from './journal.ts';
import { KeptOutput } from './kept-output.ts';

const root = mkdtempSync(join(tmpdir(), 'viv-journal-'));
after(() => rmSync(root, { recursive: true, force: true }));
let count = 0;
const clock = new FakeClock();
const freshDir = () => join(root, `${count++}`);

test('a journal cut at any byte goes on after its last sound record', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.string(), { minLength: 1, maxLength: 6 }), fc.nat(), async (texts, cutAt) => {
      const files = new DescriptorCache(2);
      const dir = freshDir();
      const journal = Journal.create(dir, clock, files);
      for (const text of texts) journal.append({ type: 'file', data: { text } });
      journal.close();
      const bytes = readFileSync(journal.path);
      const cut = cutAt % (bytes.length + 1);
      truncateSync(journal.path, cut);
      const whole = bytes.subarray(0, cut).toString('latin1').split('\n').length - 1;
      const seen: JournalRecord[] = [];
      const again = Journal.load(dir, clock, files, (record) => seen.push(record));
      assert.equal(seen.length, whole);
      again.append({ type: 'state', data: {} });
      assert.equal(verifyChain(await again.read(-1, 100)).seq, whole);
      files.close();
    }),
    { numRuns: 60 },
  );
});

test('a page begins after the record that was seen last', async () => {
  const files = new DescriptorCache();
  const journal = Journal.create(freshDir(), clock, files);
  for (let i = 0; i < 500; i++) journal.append({ type: 'file', data: { i, pad: 'é'.repeat(700) } });
  assert.deepEqual(
    (await journal.read(497, 10)).map(({ seq }) => seq),
    [498, 499],
  );
  assert.deepEqual(
    (await journal.read(10, 2)).map(({ seq }) => seq),
    [11, 12],
  );
  assert.equal((await journal.read(-1, 1000)).length, 500);
  files.close();
});

test('no more files are open than the cache may hold, and all are written', async () => {
  const files = new DescriptorCache(3);
  const journals = Array.from({ length: 10 }, () => Journal.create(freshDir(), clock, files));
  for (let round = 0; round < 3; round++)
    for (const journal of journals) journal.append({ type: 'file', data: { round } });
  assert.equal(files.size, 3);
  for (const journal of journals) assert.equal((await journal.read(-1, 10)).length, 3);
  files.close();
});

test('small output stays in memory; more goes to a file whole, and a new process of ours finds it', async () => {
  const files = new DescriptorCache();
  const path = join(freshDir(), 'out', 'x.1');
  const kept = new KeptOutput(path, files, 10_000);
  kept.append(Buffer.from('a'.repeat(4000)));
  assert.deepEqual([kept.durable, existsSync(path)], [0, false]);
  kept.append(Buffer.from('b'.repeat(4000)));
  assert.equal(kept.durable, 8000);
  const again = KeptOutput.resume(path, files, 10_000);
  assert.equal(again.append(Buffer.from('c'.repeat(4000))), 2000);
  assert.equal(again.full, true);
  assert.equal(again.readAll().toString(), 'a'.repeat(4000) + 'b'.repeat(4000) + 'c'.repeat(2000));
  assert.equal((await again.read(7999, 2)).toString(), 'bc');
  again.remove();
  assert.equal(existsSync(path), false);
  files.close();
});

test('what a sandbox may keep in all is shared by its commands', () => {
  const files = new DescriptorCache();
  const dir = freshDir();
  const budget = { leftBytes: 10_000 };
  const first = new KeptOutput(join(dir, 'a.1'), files, 1_000_000, budget);
  const second = new KeptOutput(join(dir, 'b.1'), files, 1_000_000, budget);
  assert.equal(first.append(Buffer.alloc(7000)), 7000);
  assert.equal(second.append(Buffer.alloc(7000)), 3000);
  assert.equal(second.full, true);
  assert.equal(second.append(Buffer.alloc(10)), 0);
  files.close();
});
