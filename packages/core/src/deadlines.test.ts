import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { Deadlines } from './deadlines.ts';
import { FakeClock } from './fake-clock.ts';

test('deadlines fire once, in order, never early; cancelled ones never', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.record({ ms: fc.nat(1000), cancel: fc.boolean() }), { maxLength: 60 }),
      async (plan) => {
        const clock = new FakeClock(0);
        const deadlines = new Deadlines(clock);
        const fired: number[] = [];
        const added = plan.map(({ ms }) =>
          deadlines.add(ms, () => {
            assert.ok(clock.now() >= ms);
            fired.push(ms);
          }),
        );
        for (const [i, { cancel }] of plan.entries()) if (cancel) deadlines.cancel(added[i]);
        await clock.advance(1001);
        assert.deepEqual(
          fired,
          plan
            .filter(({ cancel }) => !cancel)
            .map(({ ms }) => ms)
            .sort((a, b) => a - b),
        );
        assert.equal(deadlines.size, 0);
        assert.ok(clock.pending <= 1);
      },
    ),
    { numRuns: 50 },
  );
});

test('a deadline added while another fires still fires', async () => {
  const clock = new FakeClock(0);
  const deadlines = new Deadlines(clock);
  let second = 0;
  deadlines.add(10, () => deadlines.add(20, () => (second = clock.now())));
  await clock.advance(100);
  assert.equal(second, 20);
});

test('after close nothing fires', async () => {
  const clock = new FakeClock(0);
  const deadlines = new Deadlines(clock);
  deadlines.add(10, () => assert.fail('fired'));
  deadlines.close();
  await clock.advance(100);
  assert.equal(clock.pending, 0);
});

test('setting the wall clock fires nothing early and holds nothing up', async () => {
  const clock = new FakeClock();
  const deadlines = new Deadlines(clock);
  const fired: string[] = [];
  deadlines.add(clock.now() + 1000, () => fired.push('a'));
  clock.setWall(3_600_000);
  deadlines.add(clock.now() + 500, () => fired.push('b'));
  await clock.advance(499);
  assert.deepEqual(fired, []);
  clock.setWall(-7_200_000);
  await clock.advance(1);
  assert.deepEqual(fired, ['b']);
  await clock.advance(500);
  assert.deepEqual(fired, ['b', 'a']);
});
