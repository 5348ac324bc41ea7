/**
 * Every public method of the published clients does what it says. What is in this file's table is what docs/e2b.md may call
 * working; the benchmark counts what is not (bench/e2b.ts).
 */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { clientMethods } from '../../harness/client-surface.ts';
import { documentedMethods } from '../../harness/client-table.ts';
import { type E2bNode, startE2bNode } from '../../harness/e2b.ts';
import { type Bed, openBed } from './methods/bed.ts';
import { METHOD_CHECKS } from './methods/index.ts';

/** A check that hangs fails. */
const CHECK_MS = 120_000;

let node: E2bNode;
let bed: Bed;

before(async () => {
  node = await startE2bNode({ interpreter: true });
  bed = await openBed(node);
});
after(() => node.close());

test('every public method of the clients has a check', () => {
  assert.deepEqual(Object.keys(METHOD_CHECKS).sort(), clientMethods());
});

test('docs/e2b.md has one row for every public method', () => {
  assert.deepEqual(
    documentedMethods()
      .map(({ method }) => method)
      .sort(),
    clientMethods(),
  );
});

test('every row that differs says how', () => {
  const silent = documentedMethods().filter(({ state, note }) => state !== 'yes' && note === '');
  assert.deepEqual(silent, []);
});

for (const [method, check] of Object.entries(METHOD_CHECKS)) {
  test(`${method} gives the right value`, { timeout: CHECK_MS }, () => check(bed));
}
