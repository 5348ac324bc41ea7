import assert from 'node:assert/strict';
import { test } from 'node:test';
import { VivError } from '@vivarium/protocol';
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

test('lists page by cursor', async () => {
  await using api = await served();
  for (let i = 0; i < 5; i++) await api.create();
  const seen: string[] = [];
  let cursor: string | null = '0';
  while (cursor !== null) {
    const { json } = await api.call('GET', `/v1/sandboxes?limit=2&cursor=${cursor}`);
    seen.push(...json.items.map((item: { id: string }) => item.id));
    cursor = json.nextCursor;
  }
  assert.equal(new Set(seen).size, 5);
});

test('every other sandbox operation reaches the edge', async () => {
  await using api = await served();
  const { id } = await api.create();
  const at = `/v1/sandboxes/${id}`;
  assert.equal((await api.call('PATCH', at, { labels: { a: 'b' }, idleTimeoutS: null })).json.labels.a, 'b');
  assert.equal((await api.call('POST', `${at}/pause`)).json.state, 'paused');
  assert.equal((await api.call('GET', `${at}/wait?state=paused&waitMs=10`)).json.state, 'paused');
  assert.equal((await api.call('POST', `${at}/resume`)).json.state, 'running');
  assert.equal((await api.call('GET', `${at}/stats`)).json.pidsLimit, 512);
  assert.equal((await api.call('GET', `${at}/processes`)).json.items[0].comm, 'viv-init');
  assert.equal((await api.call('POST', `${at}/fork`, { count: 3 })).json.items.length, 3);
  assert.equal((await api.call('POST', `${at}/snapshot`, { image: 'mine@1' })).json.name, 'mine@1');
  const logs = (await api.call('GET', `${at}/logs?after=-1&limit=10`)).json;
  assert.deepEqual([logs.items.length, logs.nextAfter], [10, 9]);
  assert.equal((await api.call('GET', `${at}/logs?after=20`)).json.nextAfter, null);
});

test('changes come as one JSON value per line', async () => {
  await using api = await served();
  const { id } = await api.create();
  api.edge.sandboxes.changeCount = 5_000;
  const { text, headers } = await api.call('GET', `/v1/sandboxes/${id}/changes`);
  assert.equal(headers.get('content-type'), 'application/x-ndjson');
  const lines = text.trimEnd().split('\n');
  assert.equal(lines.length, 5_000);
  assert.equal(JSON.parse(lines[4_999]!).path, '/f4999');
});

test('an error amid changes is the last line, one before them is an ordinary answer', async () => {
  await using api = await served();
  const { id } = await api.create();
  api.edge.sandboxes.failChangesAt = 2;
  const { text } = await api.call('GET', `/v1/sandboxes/${id}/changes`);
  assert.equal(JSON.parse(text.trimEnd().split('\n').at(-1)!).error.code, 'sandbox_lost');
  api.edge.sandboxes.failChangesAt = 0;
  assert.equal((await api.call('GET', `/v1/sandboxes/${id}/changes`)).status, 502);
});

test('a retry with the same idempotency key gets the first sandbox, another request a mismatch, another API key its own', async () => {
  await using api = await served();
  const headers = { 'idempotency-key': 'once' };
  const first = await api.call(
    'POST',
    '/v1/sandboxes',
    { image: 'base/debian@12', labels: { a: '1', b: '2' } },
    headers,
  );
  const again = await api.call(
    'POST',
    '/v1/sandboxes',
    '{ "labels": {"b":"2","a":"1"}, "image": "base/debian@12" }',
    headers,
  );
  assert.equal(again.json.id, first.json.id, 'white space and order do not matter');
  const other = await api.call('POST', '/v1/sandboxes', { image: 'base/debian@12' }, headers);
  assert.deepEqual([other.status, other.json.error.code], [422, 'idempotency_mismatch']);
  const { secret } = api.keys.create({ name: 'second', scopes: ['sandboxes'] });
  const foreign = await api.call(
    'POST',
    '/v1/sandboxes',
    { image: 'base/debian@12' },
    { ...headers, authorization: `Bearer ${secret}` },
  );
  assert.equal(foreign.status, 200);
  assert.equal(
    (await api.call('POST', '/v1/sandboxes', { image: 'base/debian@12' }, { 'idempotency-key': 'x'.repeat(201) })).json
      .error.code,
    'invalid_argument',
  );
});

test('a key with a quota is refused beyond it', async () => {
  await using api = await served();
  const { secret } = api.keys.create({ name: 'small', scopes: ['sandboxes'], maxSandboxes: 1 });
  const headers = { authorization: `Bearer ${secret}` };
  assert.equal((await api.call('POST', '/v1/sandboxes', { image: 'base/debian@12' }, headers)).status, 200);
  const { status, json } = await api.call('POST', '/v1/sandboxes', { image: 'base/debian@12' }, headers);
  assert.deepEqual([status, json.error.code, json.error.retryable], [429, 'quota_exceeded', true]);
});

test('what the edge throws that is no error of ours is logged with a request id and told as internal, without its text', async () => {
  await using api = await served();
  const { id } = await api.create();
  api.edge.sandboxes.stats = () => Promise.reject(new Error('secret path /root/x'));
  const { status, json } = await api.call('GET', `/v1/sandboxes/${id}/stats`);
  assert.equal(status, 500);
  assert.equal(json.error.code, 'internal');
  assert.ok(!JSON.stringify(json).includes('secret path'));
  assert.ok(api.log.some((line) => line.includes(json.error.details.requestId) && line.includes('secret path')));
  api.edge.sandboxes.stats = () => Promise.reject(new VivError('node_full', 'no room'));
  assert.equal((await api.call('GET', `/v1/sandboxes/${id}/stats`)).status, 503);
});

test('a create whose client left is undone; with an idempotency key it stays for the retry', async () => {
  await using api = await served();
  const { MuxClient } = await import('../testing/mux-client.ts');
  const create = { image: 'base/debian@12' };
  const ways = {
    http: async (key?: string) => {
      const leave = new AbortController();
      const headers = { authorization: `Bearer ${api.secret}`, ...(key !== undefined && { 'idempotency-key': key }) };
      const body = JSON.stringify(create);
      const request = fetch(`${api.url}/v1/sandboxes`, { method: 'POST', headers, body, signal: leave.signal });
      request.catch(() => {});
      return () => leave.abort();
    },
    connection: async (key?: string) => {
      const client = await new MuxClient(api.url, api.secret).ready();
      client.open(1, { op: 'sandbox.create', create, ...(key !== undefined && { idempotencyKey: key }) });
      return () => client.ws.terminate();
    },
  };
  for (const [name, begin] of Object.entries(ways)) {
    for (const key of [undefined, `key-${name}`]) {
      api.edge.sandboxes.rows.clear();
      const arrived = Promise.withResolvers<void>();
      const go = Promise.withResolvers<void>();
      api.edge.sandboxes.beforeCreate = () => {
        arrived.resolve();
        return go.promise;
      };
      const leave = await begin(key);
      await arrived.promise;
      leave();
      await new Promise((resolve) => setTimeout(resolve, 50));
      go.resolve();
      await new Promise((resolve) => setTimeout(resolve, 50));
      const states = [...api.edge.sandboxes.rows.values()].map(({ state }) => state);
      assert.deepEqual(states, [key === undefined ? 'ended' : 'running'], `${name} ${key}`);
    }
  }
});
