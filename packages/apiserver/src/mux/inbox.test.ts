import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Inbox } from './inbox.ts';

test('tiny pieces are gathered into few large ones', async () => {
  const inbox = new Inbox({ grant: () => {}, held: () => {} });
  for (let i = 0; i < 100_000; i++) inbox.push(Buffer.from([i & 0xff]));
  inbox.end();
  const sizes: number[] = [];
  let next = 0;
  await inbox.drain((chunk) => {
    for (const byte of chunk) assert.equal(byte, next++ & 0xff);
    sizes.push(chunk.length);
  });
  assert.equal(next, 100_000);
  assert.ok(sizes.length < 10, `${sizes.length} pieces`);
});

test('credit is given back as data is taken, and what is held returns to zero', async () => {
  let held = 0;
  const grants: number[] = [];
  const inbox = new Inbox({ grant: (limit) => grants.push(limit), held: (bytes) => (held += bytes) });
  for (let i = 0; i < 4; i++) inbox.push(Buffer.alloc(262_144));
  assert.throws(() => inbox.push(Buffer.alloc(1)), /credit/);
  assert.equal(held, 1_048_576);
  let taken = 0;
  const drained = inbox.drain(() => void taken++);
  await new Promise((resolve) => setImmediate(resolve));
  assert.deepEqual([taken, held], [4, 0]);
  assert.deepEqual(grants, [1_310_720, 1_572_864, 1_835_008, 2_097_152]);
  inbox.close();
  assert.equal(await drained, false);
});
