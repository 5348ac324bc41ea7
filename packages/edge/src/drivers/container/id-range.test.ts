import assert from 'node:assert/strict';
import { test } from 'node:test';
import { VivError } from '@vivarium/protocol';
import fc from 'fast-check';
import { ID_COUNT, IdRanges, idBase, SLOTS_MAX } from './id-range.ts';
import { slotOfSnapshot, snapshotName } from './snapshot-name.ts';

test('ranges do not overlap and fit into 31 bits', () => {
  assert.ok(idBase(1) - idBase(0) >= ID_COUNT);
  assert.ok(idBase(SLOTS_MAX - 1) + ID_COUNT <= 2 ** 31);
});

test('the roots of 6,000 cells are spread over the kernel’s table of users', () => {
  const chains = new Array<number>(128).fill(0);
  for (let slot = 0; slot < 6000; slot++) {
    const uid = idBase(slot);
    chains[((uid >> 7) + uid) & 127]!++;
  }
  assert.ok(Math.max(...chains) <= 2 * (6000 / 128), `the longest chain has ${Math.max(...chains)}`);
});

test('whatever is taken, shared and released, nobody gets a range that another has', () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.constantFrom('take', 'share', 'release'), fc.nat())), (steps) => {
      const ranges = new IdRanges();
      const held: number[] = [];
      for (const [step, pick] of steps) {
        const slot = held[pick % Math.max(1, held.length)];
        if (step === 'take') {
          const taken = ranges.take();
          assert.ok(!held.includes(taken));
          held.push(taken);
        } else if (slot !== undefined && step === 'share') {
          ranges.share(slot);
          held.push(slot);
        } else if (slot !== undefined) {
          ranges.release(slot);
          held.splice(held.indexOf(slot), 1);
        }
        assert.equal(ranges.inUse, new Set(held).size);
      }
    }),
  );
});

test('when all ranges are in use the node is full, until one is released', () => {
  const ranges = new IdRanges();
  for (let index = 0; index < SLOTS_MAX; index++) ranges.take();
  assert.throws(
    () => ranges.take(),
    (error) => error instanceof VivError && error.code === 'node_full',
  );
  ranges.release(77);
  assert.equal(ranges.take(), 77);
});

test('a snapshot’s name tells the range of its files', () => {
  assert.equal(slotOfSnapshot(`/x/${snapshotName('fork-1', 42)}`), 42);
  assert.throws(() => snapshotName('a/b', 1), VivError);
  assert.throws(() => slotOfSnapshot('/x/other'), VivError);
});
