import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Key } from '@vivarium/protocol';
import { served } from '../../testing/served.ts';
import type { E2bContext } from '../context.ts';
import { findTemplate } from './template-source.ts';

const IMAGE = 'base/debian@12';

async function serving() {
  const api = await served();
  const post = async (path: string, body: object) => {
    const init = { method: 'POST', headers: { 'x-api-key': api.secret }, body: JSON.stringify(body) };
    return (await (await fetch(api.url + path, init)).json()) as { sandboxID: string; snapshotID: string };
  };
  const { sandboxes } = api.edge;
  const real = sandboxes.create.bind(sandboxes);
  // The fake knows one image only.
  sandboxes.create = (request, ...rest) => real({ ...request, image: IMAGE }, ...rest);
  const create = async (templateID: string) => (await post('/v2/sandboxes', { templateID })).sandboxID;
  const take = async (id: string, name: string) => (await post(`/sandboxes/${id}/snapshots`, { name })).snapshotID;
  return { ...api, create, take };
}

test('a snapshot of a sandbox made from a snapshot is of the template under both, also under the same name', async () => {
  await using api = await serving();
  const id = await api.take(await api.create(IMAGE), 'ckpt');
  for (const name of ['ckpt', 'ckpt:v2', 'ckpt']) {
    assert.equal(await api.take(await api.create(id), name), name === 'ckpt' ? id : `${id}:v2`);
  }
  assert.deepEqual(
    api.store.snapshots.byId(id).map(({ template }) => template),
    [IMAGE, IMAGE],
  );
});

test('a snapshot that was noted as its own template is found, and starts nothing', async () => {
  await using api = await serving();
  const id = await api.take(await api.create(IMAGE), 'ckpt');
  api.store.snapshots.put({ ...api.store.snapshots.byId(id)[0]!, template: id });
  const key = { id: 'x', scopes: ['admin'] } as unknown as Key;
  const found = findTemplate({ edge: api.edge, store: api.store } as unknown as E2bContext, id, key);
  assert.equal(found.templateID, id);
  assert.equal(found.start, undefined);
});
