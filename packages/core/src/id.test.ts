import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { FakeClock } from './fake-clock.ts';
import { createIdSource, idTime } from './id.ts';
import { seededRandom } from './random.ts';

test('ids are 20 characters, unique and strictly increasing, whatever the clock does', () => {
  fc.assert(
    fc.property(fc.integer(), fc.array(fc.integer({ min: -5, max: 5 }), { maxLength: 300 }), (seed, steps) => {
      let now = 1_700_000_000_000;
      const clock = Object.assign(new FakeClock(), { now: () => now });
      const next = createIdSource(clock, seededRandom(seed));
      let last = '';
      for (const step of steps) {
        now += step;
        const id = next();
        assert.match(id, /^[a-z0-9]{20}$/);
        assert.ok(id > last, `${id} after ${last}`);
        last = id;
      }
    }),
  );
});

test('an id tells when it was made', () => {
  assert.equal(idTime(createIdSource(new FakeClock(1_712_345_678_901), seededRandom(1))()), 1_712_345_678_901);
});

test('a full tail moves on to the next millisecond', () => {
  const next = createIdSource(new FakeClock(), { bytes: (n) => new Uint8Array(n).fill(35) });
  const first = next();
  assert.ok(next() > first);
});
