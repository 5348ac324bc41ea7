import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Sandbox } from 'e2b';
import { useMany } from '../../../bench/e2b/clients.ts';
import { type E2bNode, startE2bNode } from '../../harness/e2b.ts';

let node: E2bNode;
before(async () => {
  node = await startE2bNode();
});
after(() => node.close());

test('one process makes, uses and kills 200 sandboxes at once without an error, and nothing is left', async () => {
  const { errors } = await useMany(node, 200);
  assert.deepEqual(errors.map(String), []);
  assert.deepEqual(await Sandbox.list({ query: { state: ['running', 'paused'] } }).nextItems(), []);
});
