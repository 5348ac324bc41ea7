import assert from 'node:assert/strict';
import { test } from 'node:test';
import { served } from '../testing/served.ts';

test('images are listed, inspected by encoded name and kept while in use', async () => {
  await using api = await served();
  assert.equal((await api.call('GET', '/v1/images')).json.items[0].name, 'base/debian@12');
  assert.equal((await api.call('GET', '/v1/images/base%2Fdebian%4012')).json.name, 'base/debian@12');
  assert.equal((await api.call('DELETE', '/v1/images/base%2Fdebian%4012')).json.error.code, 'image_in_use');
  assert.equal((await api.call('GET', '/v1/images/nope%401')).json.error.code, 'image_not_found');
  assert.equal((await api.call('GET', '/v1/images/%ff')).json.error.code, 'image_not_found');
});

test('an import streams progress and ends with done or error', async () => {
  await using api = await served();
  const source = { type: 'debootstrap', suite: 'bookworm' };
  const lines = async (name: string) =>
    (await api.call('POST', '/v1/images/import', { name, source })).text
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));
  assert.deepEqual(
    (await lines('new@1')).map((line) => line.type),
    ['progress', 'done'],
  );
  const broken = await lines('broken@1');
  assert.deepEqual([broken.at(-1).type, broken.at(-1).error.code], ['error', 'import_failed']);
  assert.equal((await api.call('POST', '/v1/images/import', { name: 'taken@1', source })).status, 409);
  assert.match(
    (await api.call('POST', '/v1/images/import', { name: 'x@1', source: { type: 'debootstrap', suit: 'a' } })).json
      .error.message,
    /in source; did you mean "suite"/,
  );
});

test('a tar import takes its config from the query and its bytes from the body', async () => {
  await using api = await served();
  const config = Buffer.from(JSON.stringify({ env: { A: '1' } })).toString('base64');
  const { text } = await api.call(
    'POST',
    `/v1/images/import-tar?name=t@1&config=${encodeURIComponent(config)}`,
    Buffer.alloc(3_000_000),
  );
  assert.equal(JSON.parse(text).type, 'done');
  assert.equal(api.edge.images.received, 3_000_000);
  assert.deepEqual(api.edge.images.lastConfig, { env: { A: '1' }, labels: {} });
  const bad = await api.call('POST', `/v1/images/import-tar?name=t@1&config=${btoa('{"envv":{}}')}`, 'x');
  assert.match(bad.json.error.message, /unknown field "envv" in config; did you mean "env"/);
});

test('leases are made, found by label, renewed and ended', async () => {
  await using api = await served();
  const lease = (await api.call('POST', '/v1/leases', { label: 'train', graceS: 5 })).json;
  assert.equal((await api.call('GET', '/v1/leases?label=train')).json.items[0].id, lease.id);
  assert.deepEqual((await api.call('GET', '/v1/leases?label=other')).json.items, []);
  assert.equal((await api.call('GET', `/v1/leases/${lease.id}`)).json.graceS, 5);
  assert.equal((await api.call('POST', `/v1/leases/${lease.id}/renew`)).status, 200);
  assert.equal((await api.call('DELETE', `/v1/leases/${lease.id}`)).status, 204);
  assert.equal((await api.call('GET', `/v1/leases/${lease.id}`)).json.error.code, 'lease_not_found');
});

test('health needs no key; node, usage and the description are there', async () => {
  await using api = await served();
  assert.deepEqual(await (await fetch(`${api.url}/healthz`)).json(), { status: 'ok' });
  assert.equal((await api.call('GET', '/v1/node')).json.id, 'n1');
  assert.equal((await api.call('GET', '/v1/usage')).json.key.name, 'test');
  assert.equal(((await (await fetch(`${api.url}/openapi.json`)).json()) as { openapi: string }).openapi, '3.1.0');
});

test('metrics show the edge and the API, without a key from this machine only', async () => {
  await using api = await served();
  await api.create();
  const direct = await (await fetch(`${api.url}/metrics`)).text();
  assert.match(direct, /# edge metrics/);
  assert.match(direct, /viv_http_requests_total\{route="sandbox.create",status="200"\} 1/);
  assert.equal((await fetch(`${api.url}/metrics`, { headers: { 'x-forwarded-for': '10.0.0.1' } })).status, 401);
  assert.equal((await api.call('GET', '/metrics', undefined, { 'x-forwarded-for': '10.0.0.1' })).status, 200);
});

test('pages of any origin may call, and preflights are answered', async () => {
  await using api = await served();
  const preflight = await fetch(`${api.url}/v1/sandboxes`, {
    method: 'OPTIONS',
    headers: { origin: 'http://a.example', 'access-control-request-method': 'POST' },
  });
  assert.equal(preflight.status, 204);
  assert.match(preflight.headers.get('access-control-allow-headers')!, /authorization/);
  assert.equal(
    (await api.call('GET', '/v1/node', undefined, { origin: 'http://a.example' })).headers.get(
      'access-control-allow-origin',
    ),
    '*',
  );
});
