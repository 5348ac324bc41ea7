import assert from 'node:assert/strict';
import { test } from 'node:test';
import { served } from '../testing/served.ts';

type Api = Awaited<ReturnType<typeof served>>;

async function withVolume() {
  const api = await served();
  const made = await api.call('POST', '/v1/volumes', { name: 'data', sizeMiB: 8 });
  return { api, id: made.json.id as string, [Symbol.asyncDispose]: () => api.close() };
}

const raw = async (api: Api, method: string, path: string, init: RequestInit = {}) => {
  const headers = { authorization: `Bearer ${api.secret}`, ...init.headers };
  return fetch(`${api.url}${path}`, { ...init, method, headers });
};

test('a volume is made with a default size, found by name and by id, listed and removed', async () => {
  await using t = await withVolume();
  const { api, id } = t;
  const other = await api.call('POST', '/v1/volumes', { name: 'other' });
  assert.equal(other.json.sizeMiB, 10_240);
  for (const at of ['data', id]) assert.equal((await api.call('GET', `/v1/volumes/${at}`)).json.id, id);
  assert.equal((await api.call('GET', '/v1/volumes')).json.items.length, 2);
  assert.equal((await api.call('DELETE', '/v1/volumes/data')).status, 204);
  const gone = await api.call('GET', `/v1/volumes/${id}`);
  assert.deepEqual([gone.status, gone.json.error.code], [404, 'volume_not_found']);
});

test('names, sizes and fields that can not be are refused by name', async () => {
  await using t = await withVolume();
  const refused = async (body: object) => {
    const { status, json } = await t.api.call('POST', '/v1/volumes', body);
    return [status, json.error.code, json.error.details?.field];
  };
  assert.deepEqual(await refused({ name: 'a b' }), [400, 'invalid_argument', 'name']);
  assert.deepEqual(await refused({}), [400, 'invalid_argument', 'name']);
  assert.deepEqual((await refused({ name: 'x', sizeMiB: 0 }))[2], 'sizeMiB');
  assert.deepEqual((await refused({ name: 'x', sizeMiB: 2_000_000 }))[1], 'limit_too_high');
  assert.deepEqual((await refused({ name: 'x', colour: 'red' }))[1], 'unknown_field');
  assert.deepEqual(await refused({ name: 'data' }), [409, 'volume_exists', undefined]);
});

test('files are written, read whole and in ranges, shown, listed and removed', async () => {
  await using t = await withVolume();
  const { api } = t;
  const at = '/v1/volumes/data/files';
  const written = await raw(api, 'PUT', `${at}/content?path=/a/b&mode=600&uid=5&parents=true`, { body: '0123456789' });
  const entry = (await written.json()) as Record<string, unknown>;
  assert.deepEqual([entry.path, entry.mode, entry.uid, entry.gid, entry.sizeBytes], ['/a/b', 0o600, 5, 1000, 10]);
  const whole = await raw(api, 'GET', `${at}/content?path=/a/b`);
  assert.deepEqual([whole.headers.get('content-length'), await whole.text()], ['10', '0123456789']);
  const part = await raw(api, 'GET', `${at}/content?path=/a/b`, { headers: { range: 'bytes=2-4' } });
  assert.deepEqual([part.status, part.headers.get('content-range'), await part.text()], [206, 'bytes 2-4/10', '234']);
  assert.equal((await raw(api, 'GET', `${at}/content?path=/a/b`, { headers: { range: 'bytes=10-' } })).status, 416);
  const again = await raw(api, 'PUT', `${at}/content?path=/a/b&exclusive=true`, { body: 'x' });
  assert.equal(again.status, 409);
  assert.equal((await api.call('POST', `${at}/mkdir`, { path: '/dir', mode: 0o700 })).json.type, 'dir');
  assert.equal((await api.call('POST', `${at}/attributes`, { path: '/dir', uid: 7 })).json.uid, 7);
  assert.equal((await api.call('GET', `${at}/list?path=/`)).json.items.length, 2);
  const lines = await (
    await raw(api, 'GET', `${at}/list?path=/`, { headers: { accept: 'application/x-ndjson' } })
  ).text();
  assert.equal(lines.trim().split('\n').length, 2);
  assert.equal((await api.call('DELETE', `${at}?path=/a/b`)).status, 204);
  assert.equal((await api.call('GET', `${at}/stat?path=/a/b`)).json.error.code, 'path_not_found');
});

test('an owner without meaning in a sandbox is refused', async () => {
  await using t = await withVolume();
  const got = await raw(t.api, 'PUT', '/v1/volumes/data/files/content?path=/a&uid=65536', { body: 'x' });
  assert.equal(got.status, 400);
  assert.match(await got.text(), /uid/);
});

test('an empty file has an empty answer', async () => {
  await using t = await withVolume();
  await raw(t.api, 'PUT', '/v1/volumes/data/files/content?path=/empty', { body: '' });
  assert.equal(await (await raw(t.api, 'GET', '/v1/volumes/data/files/content?path=/empty')).text(), '');
});

test('a sandbox is created with volumes at proper paths only', async () => {
  await using t = await withVolume();
  const create = (volumes: object[]) => t.api.call('POST', '/v1/sandboxes', { image: 'base/debian@12', volumes });
  assert.equal((await create([{ name: 'data', path: '/mnt/data', readOnly: true }])).json.volumes[0].path, '/mnt/data');
  for (const path of ['/', 'x', '//', '/a//b', '/a/../b', '/proc', '/dev/shm', '/sys/fs', ''])
    assert.equal((await create([{ name: 'data', path }])).json.error.code, 'invalid_argument', path);
  const nested = await create([
    { name: 'data', path: '/a' },
    { name: 'data', path: '/a/b' },
  ]);
  const same = await create([
    { name: 'data', path: '/a/' },
    { name: 'data', path: '/a' },
  ]);
  assert.deepEqual([nested.status, same.status], [400, 400]);
  assert.equal((await create(Array.from({ length: 17 }, (_, i) => ({ name: 'data', path: `/v${i}` })))).status, 400);
});
