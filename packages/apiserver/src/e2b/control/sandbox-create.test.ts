import assert from 'node:assert/strict';
import { test } from 'node:test';
import { served } from '../../testing/served.ts';

test('a sandbox about which nothing can be written down is ended', async (t) => {
  await using api = await served();
  t.mock.method(api.store.sandboxes, 'put', () => {
    throw new Error('database or disk is full');
  });
  const body = JSON.stringify({ templateID: 'base/debian@12' });
  const response = await fetch(`${api.url}/v2/sandboxes`, {
    method: 'POST',
    headers: { 'x-api-key': api.secret },
    body,
  });
  assert.equal(response.status, 500);
  assert.deepEqual(
    [...api.edge.sandboxes.rows.values()].map(({ state }) => state),
    ['ended'],
  );
});
