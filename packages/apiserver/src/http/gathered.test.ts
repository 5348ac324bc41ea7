import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { Gathered } from './gathered.ts';

test('what is taken is what came, in order, however it was cut and whatever comes afterwards', () => {
  const steps = fc.array(fc.oneof(fc.uint8Array({ maxLength: 40 }), fc.nat({ max: 60 })), { maxLength: 60 });
  fc.assert(
    fc.property(steps, (all) => {
      const gathered = new Gathered();
      const came: number[] = [];
      const taken: Buffer[] = [];
      for (const step of all) {
        if (typeof step === 'number') taken.push(gathered.take(step));
        else {
          came.push(...step);
          gathered.push(Buffer.from(step));
        }
      }
      taken.push(gathered.take(gathered.length));
      assert.deepEqual([...Buffer.concat(taken)], came);
      assert.equal(gathered.length, 0);
    }),
  );
});

test('a million single bytes are one buffer', () => {
  const gathered = new Gathered();
  for (let i = 0; i < 1_000_000; i++) gathered.push(Buffer.of(i & 0xff));
  assert.deepEqual([...gathered.peek(3)], [0, 1, 2]);
  assert.equal(gathered.take(2_000_000).length, 1_000_000);
});
