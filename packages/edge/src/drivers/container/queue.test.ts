import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CreateQueue } from './queue.ts';

test('no more tasks run at once than allowed, all run in order, and a failed one gives its place away', async () => {
  const queue = new CreateQueue(3);
  let running = 0;
  let most = 0;
  const started: number[] = [];
  const results = await Promise.allSettled(
    Array.from({ length: 20 }, (_, index) =>
      queue.run(async () => {
        started.push(index);
        most = Math.max(most, ++running);
        await new Promise((resolve) => setImmediate(resolve));
        running--;
        if (index % 5 === 0) throw new Error('no');
        return index;
      }),
    ),
  );
  assert.equal(most, 3);
  assert.deepEqual(started, [...started.keys()]);
  assert.equal(results.filter(({ status }) => status === 'rejected').length, 4);
});
