import assert from 'node:assert/strict';
import { test } from 'node:test';
import { served } from '../../testing/served.ts';

test('a list whose entries are too long together is refused, however few they are', async () => {
  await using api = await served();
  const { id, token } = await api.create();
  const list = async (path: string) => {
    const response = await fetch(`${api.url}/filesystem.Filesystem/ListDir`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'e2b-sandbox-id': id, 'x-access-token': token },
      body: JSON.stringify({ path }),
    });
    return (await response.json()) as { entries?: object[]; code?: string; message?: string };
  };
  api.edge.files.listCount = 10_000;
  assert.equal((await list('/short')).entries?.length, 10_000);
  const refused = await list(`/${'x'.repeat(4000)}`);
  assert.equal(refused.code, 'resource_exhausted');
  assert.match(refused.message!, /the entries have more than 33554432 characters/);
});
