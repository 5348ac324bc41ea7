import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ReadyQueue } from './ready-queue.ts';

test('a slot takes what is ready, whichever part came first', async () => {
  const queue = new ReadyQueue<string>(2);
  const waiting = queue.take();
  queue.add(['b1', 'b2']);
  assert.equal(await waiting, 'b1');
  assert.equal(await queue.take(), 'b2');
  const next = queue.take();
  queue.add(['a1']);
  assert.equal(await next, 'a1');
  assert.equal(await queue.take(), undefined);
});

test('slots that wait are told when nothing more comes, also when nothing came', async () => {
  const queue = new ReadyQueue<string>(1);
  const waiting = [queue.take(), queue.take()];
  queue.add(['only']);
  assert.deepEqual(await Promise.all(waiting), ['only', undefined]);
});

test('a closed queue hands out nothing more', async () => {
  const queue = new ReadyQueue<string>(2);
  queue.add(['a', 'b']);
  queue.close();
  queue.add(['c']);
  assert.equal(await queue.take(), undefined);
});
