import assert from 'node:assert/strict';
import { test } from 'node:test';
import { served } from '../testing/served.ts';

test('a sandbox is created, inspected, listed by label and ended', async () => {
  await using api = await served();
  const made = await api.call('POST', '/v1/sandboxes', { image: 'base/debian@12', labels: { job: 'a=b' } });
  assert.equal(made.status, 200);
  assert.equal(made.json.token, `token-of-${made.json.id}`);
  assert.equal(made.json.limits.memoryMiB, 1024, 'defaults come from the schema');
  assert.equal((await api.call('GET', `/v1/sandboxes/${made.json.id}`)).json.state, 'running');
  assert.equal((await api.call('GET', '/v1/sandboxes?label=job%3Da%3Db&state=running,paused')).json.items.length, 1);
  assert.equal((await api.call('GET', '/v1/sandboxes?label=job%3Dother')).json.items.length, 0);
  assert.equal((await api.call('DELETE', `/v1/sandboxes/${made.json.id}`)).json.state, 'ended');
  assert.equal((await api.call('DELETE', `/v1/sandboxes/${made.json.id}`)).status, 200, 'ending twice is fine');
});
