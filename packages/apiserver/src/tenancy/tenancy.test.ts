import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Key } from '@vivarium/protocol';
import { FakeEdge } from '../testing/fake-edge.ts';
import { MuxClient } from '../testing/mux-client.ts';
import { served } from '../testing/served.ts';
import { ownEdge } from './own-edge.ts';

const key = (id: string, scopes: Key['scopes'] = ['sandboxes', 'images']): Key => ({
  id,
  name: id,
  scopes,
  maxSandboxes: null,
  createdAt: '2026-01-01T00:00:00.000Z',
});
const methods = (service: object) => [
  ...Object.getOwnPropertyNames(Object.getPrototypeOf(service)),
  ...Object.entries(service).flatMap(([name, value]) => (typeof value === 'function' ? [name] : [])),
];

/** Two keys with a sandbox and a lease each, and an admin. */
async function tenants() {
  const api = await served();
  const tenant = async (name: string) => {
    const { secret } = api.keys.create({ name, scopes: ['sandboxes', 'images'] });
    const call = (method: string, path: string, body?: unknown) =>
      api.call(method, path, body, { authorization: `Bearer ${secret}` });
    const { id, token } = (await call('POST', '/v1/sandboxes', { image: 'base/debian@12' })).json;
    const lease = (await call('POST', '/v1/leases', { label: 'job' })).json.id as string;
    return { secret: secret!, call, id: id as string, token: token as string, lease };
  };
  const [a, b] = [await tenant('a'), await tenant('b')];
  return { api, a, b, [Symbol.asyncDispose]: () => api.close() };
}

test('every method that takes a sandbox is closed to a key that did not make it', async () => {
  const edge = new FakeEdge();
  const { SandboxCreate } = await import('@vivarium/protocol');
  const made = await edge.sandboxes.create(SandboxCreate.parse({ image: 'base/debian@12' }), {
    keyId: 'b',
    maxSandboxes: null,
  });
  const view = ownEdge(edge, key('a'));
  const without = new Set(['constructor', 'create', 'list', 'events', 'alive']);
  for (const name of ['sandboxes', 'execs', 'files', 'ports'] as const) {
    const service = view[name] as unknown as Record<string, (id: string) => unknown>;
    const tried = methods(edge[name]).filter((method) => name !== 'sandboxes' || !without.has(method));
    assert.ok(tried.length > 1, name);
    for (const method of tried.filter((method) => method !== 'constructor')) {
      assert.throws(() => service[method]!(made.id), { code: 'sandbox_not_found' }, `${name}.${method}`);
    }
  }
  assert.equal(ownEdge(edge, key('b')).sandboxes.get(made.id).id, made.id);
  assert.equal(ownEdge(edge, key('x', ['admin'])), edge);
});

test('over HTTP the sandboxes of another key are not there; an admin sees all', async () => {
  await using t = await tenants();
  for (const [method, path, body] of [
    ['GET', ''],
    ['DELETE', ''],
    ['POST', '/pause'],
    ['GET', '/logs'],
    ['POST', '/execs', { argv: ['true'] }],
    ['GET', '/files/content?path=/etc/passwd'],
    ['PUT', '/files/content?path=/tmp/x', 'x'],
    ['POST', '/fork', {}],
    ['GET', '/ports/8000/'],
  ] as const) {
    const got = await t.a.call(method, `/v1/sandboxes/${t.b.id}${path}`, body);
    assert.deepEqual([got.status, got.json.error.code], [404, 'sandbox_not_found'], `${method} ${path}`);
  }
  const listed = (await t.a.call('GET', '/v1/sandboxes')).json.items.map((item: { id: string }) => item.id);
  assert.deepEqual(listed, [t.a.id]);
  assert.equal((await t.api.call('GET', '/v1/sandboxes')).json.items.length, 2);
  assert.equal((await t.api.call('GET', `/v1/sandboxes/${t.b.id}`)).status, 200);
});

test('a sandbox’s own token opens its ports to whoever has it', async () => {
  await using t = await tenants();
  const at = `/v1/sandboxes/${t.b.id}/ports/8000/`;
  const got = await t.api.call('GET', at, undefined, { authorization: '', 'x-viv-token': t.b.token });
  assert.equal(got.json.error.code, 'port_closed', 'let in; nothing listens');
});

test('leases of another key are not there, also not to create with', async () => {
  await using t = await tenants();
  for (const [method, path] of [
    ['GET', ''],
    ['POST', '/renew'],
    ['DELETE', ''],
  ] as const)
    assert.equal((await t.a.call(method, `/v1/leases/${t.b.lease}${path}`)).json.error.code, 'lease_not_found');
  assert.deepEqual((await t.a.call('GET', '/v1/leases')).json.items.length, 1);
  assert.equal((await t.a.call('GET', '/v1/leases?label=job')).json.items[0].id, t.a.lease);
  const made = await t.a.call('POST', '/v1/sandboxes', { image: 'base/debian@12', lease: t.b.lease });
  assert.equal(made.json.error.code, 'lease_not_found');
});

test('over one connection nothing of another key is found or told', async () => {
  await using t = await tenants();
  const client = await new MuxClient(t.api.url, t.a.secret).ready();
  client.open(1, { op: 'events' });
  await client.next('opened', 1);
  const foreign = { sandbox: t.b.id };
  client.open(3, { op: 'exec.start', ...foreign, exec: { argv: ['true'] } });
  client.open(5, { op: 'port.connect', ...foreign, port: 80 });
  client.open(7, { op: 'logs.follow', ...foreign, after: -1 });
  client.open(9, { op: 'events', ...foreign });
  client.open(11, { op: 'lease.hold', lease: t.b.lease });
  client.open(13, { op: 'file.watch', ...foreign, path: '/tmp' });
  const code = async (ch: number) =>
    ((await client.next('closed', ch)).error as { error: { code: string } } | undefined)?.error.code;
  for (const ch of [3, 5, 7, 9, 13]) assert.equal(await code(ch), 'sandbox_not_found', `channel ${ch}`);
  assert.equal(await code(11), 'lease_not_found');
  await t.b.call('POST', `/v1/sandboxes/${t.b.id}/pause`);
  await t.a.call('POST', `/v1/sandboxes/${t.a.id}/pause`);
  const { event } = await client.event(1, 'sandbox');
  assert.equal((event.sandbox as { id: string }).id, t.a.id, 'the first event told is of its own sandbox');
  await client[Symbol.asyncDispose]();
});

test('volumes of another key are not there: not to look at, to remove, to open or to mount', async () => {
  await using t = await tenants();
  const { id } = (await t.b.call('POST', '/v1/volumes', { name: 'data' })).json;
  const code = async (method: string, path: string, body?: unknown) =>
    (await t.a.call(method, path, body)).json?.error?.code;
  for (const name of ['data', id]) {
    assert.equal(await code('GET', `/v1/volumes/${name}`), 'volume_not_found');
    assert.equal(await code('DELETE', `/v1/volumes/${name}`), 'volume_not_found');
    assert.equal(await code('GET', `/v1/volumes/${name}/files/list?path=/`), 'volume_not_found');
    assert.equal(await code('PUT', `/v1/volumes/${name}/files/content?path=/x`, 'x'), 'volume_not_found');
    const volumes = [{ name, path: '/x' }];
    assert.equal(await code('POST', '/v1/sandboxes', { image: 'base/debian@12', volumes }), 'volume_not_found');
  }
  assert.deepEqual((await t.a.call('GET', '/v1/volumes')).json.items, []);
  assert.equal((await t.api.call('GET', '/v1/volumes')).json.items.length, 1, 'an admin sees all');
  assert.equal((await t.api.call('GET', `/v1/volumes/${id}`)).status, 200);
  assert.equal((await t.api.call('GET', '/v1/volumes/data')).status, 404, 'by name only its own');
});

test('every method of volumes and their files is closed to a key that did not make them', async () => {
  const edge = new FakeEdge();
  const { id } = await edge.volumes.create({ name: 'data', sizeMiB: 1 }, { keyId: 'b', maxSandboxes: null });
  const view = ownEdge(edge, key('a')).volumes;
  const files = view.files as unknown as Record<string, (id: string) => unknown>;
  for (const method of methods(edge.volumes.files).filter((name) => name !== 'constructor'))
    assert.throws(() => files[method]!(id), { code: 'volume_not_found' }, method);
  assert.throws(() => view.token(id), { code: 'volume_not_found' });
  assert.throws(() => view.owner(id), { code: 'volume_not_found' });
  await assert.rejects(view.remove(id), { code: 'volume_not_found' });
});
