/**
 * Every public method of the published clients does what it says. What is in this file's table is what docs/e2b.md may call
 * working; the benchmark counts what is not (bench/e2b.ts).
 */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { clientMethods } from '../../harness/client-surface.ts';
import { startE2bNode } from '../../harness/e2b.ts';
import { type Bed, openBed } from './methods/bed.ts';
import { METHOD_CHECKS } from './methods/index.ts';

let bed: Bed & { close(): Promise<void> };

before(async () => {
  bed = await openBed(await startE2bNode());
});
after(() => bed.close());

test('every public method of the clients has a check', () => {
  assert.deepEqual(Object.keys(METHOD_CHECKS).sort(), clientMethods());
});

for (const [method, check] of Object.entries(METHOD_CHECKS)) {
  test(`${method} gives the right value`, () => check(bed));
}
