import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Semaphore } from './semaphore.ts';

test('never more than the permits run, in order, also when some fail', async () => {
  const semaphore = new Semaphore(2);
  const order: number[] = [];
  let running = 0;
  const work = Array.from({ length: 9 }, (_, index) =>
    semaphore.run(async () => {
      running++;
      assert.ok(running <= 2);
      order.push(index);
      await new Promise((resolve) => setImmediate(resolve));
      running--;
      if (index % 3 === 0) throw new Error('failed');
    }),
  );
  const results = await Promise.allSettled(work);
  assert.equal(results.filter(({ status }) => status === 'rejected').length, 3);
  assert.deepEqual(order, [0, 1, 2, 3, 4, 5, 6, 7, 8]);
});
