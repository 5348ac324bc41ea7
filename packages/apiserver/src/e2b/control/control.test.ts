import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Served, served } from '../../testing/served.ts';

const IMAGE = 'base/debian@12';

/** Calls with the key in the form that E2B's clients insist on. */
async function serving() {
  const api = await served();
  const as =
    (secret: string) =>
    async (method: string, path: string, body?: unknown, headers: Record<string, string> = {}) => {
      const response = await fetch(api.url + path, {
        method,
        headers: { 'x-api-key': secret, ...headers },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      });
      const text = await response.text();
      // biome-ignore lint/suspicious/noExplicitAny: answers are looked into by tests only
      const json: any = text === '' ? undefined : JSON.parse(text);
      return { status: response.status, headers: response.headers, text, json };
    };
  const e2b = as(api.secret.replace('viv_', 'e2b_'));
  const create = async (body: object = {}) => (await e2b('POST', '/v2/sandboxes', { templateID: IMAGE, ...body })).json;
  return { api, as, e2b, create, [Symbol.asyncDispose]: () => api.close() };
}

const ended = (api: Served, id: string) => api.edge.sandboxes.kill(id);

test('the same key is taken with both prefixes, as X-API-Key and as a bearer; any other is 401 with a code', async () => {
  await using at = await serving();
  const { api } = at;
  const status = async (headers: Record<string, string>) => (await fetch(`${api.url}/sandboxes`, { headers })).status;
  const form = api.secret.replace('viv_', 'e2b_');
  assert.equal(await status({ 'x-api-key': form }), 200);
  assert.equal(await status({ 'x-api-key': api.secret }), 200);
  assert.equal(await status({ authorization: `Bearer ${form}` }), 200);
  assert.equal(await status({}), 401);
  const { json } = await at.as(`e2b_${'0'.repeat(40)}`)('GET', '/sandboxes');
  assert.equal(json.code, 401);
  assert.match(json.message, /the API key is not known/);
});

test('a sandbox of version 2 is always secure, one of version 1 when it is asked for', async () => {
  await using at = await serving();
  const v2 = await at.create({ secure: false });
  assert.equal(v2.envdAccessToken, `token-of-${v2.sandboxID}`);
  const v1 = (await at.e2b('POST', '/sandboxes', { templateID: IMAGE })).json;
  assert.equal(v1.envdAccessToken, undefined);
  const secure = (await at.e2b('POST', '/sandboxes', { templateID: IMAGE, secure: true })).json;
  assert.equal(secure.envdAccessToken, `token-of-${secure.sandboxID}`);
  const health = (id: string, token?: string) =>
    at.e2b(
      'POST',
      '/process.Process/List',
      {},
      { 'e2b-sandbox-id': id, 'content-type': 'application/json', ...(token && { 'x-access-token': token }) },
    );
  assert.equal((await health(v2.sandboxID)).json.code, 'unauthenticated');
  assert.equal((await health(v2.sandboxID, 'wrong')).status, 401);
  assert.equal((await health(v2.sandboxID, v2.envdAccessToken)).status, 200);
  assert.equal((await health(v1.sandboxID)).status, 200);
});

test('everything a create says is in the info', async () => {
  await using at = await serving();
  const made = await at.create({
    metadata: { 'a b': 'ü' },
    autoPause: true,
    autoResume: { enabled: true },
    allow_internet_access: true,
    network: {
      allowOut: ['1.1.1.1'],
      denyOut: ['0.0.0.0/0'],
      egressProxy: { address: 'p:1', password: 'x' },
      httpsPorts: [8443],
    },
    unknown_field: 1,
  });
  const { json: info } = await at.e2b('GET', `/sandboxes/${made.sandboxID}`);
  assert.equal(info.templateID, IMAGE);
  assert.deepEqual(info.metadata, { 'a b': 'ü' });
  assert.deepEqual(info.lifecycle, { onTimeout: 'pause', autoResume: true });
  assert.equal(info.allowInternetAccess, true);
  assert.deepEqual(info.network, {
    allowOut: ['1.1.1.1'],
    denyOut: ['0.0.0.0/0'],
    httpsPorts: [8443],
    egressProxy: { address: 'p:1' },
  });
  assert.equal(info.state, 'running');
  assert.equal(info.envdVersion, '0.6.13');
});

test('what can not be had is a 400 that names it', async () => {
  await using at = await serving();
  const refused = async (body: object, message: RegExp, path = '/v2/sandboxes') => {
    const { status, json } = await at.e2b('POST', path, { templateID: IMAGE, ...body });
    assert.deepEqual([status, json.code], [400, 400], JSON.stringify(json));
    assert.match(json.message, message);
  };
  await refused({ templateID: '' }, /templateID/);
  await refused({ timeout: -1 }, /timeout is -1/);
  await refused({ timeout: 1e9 }, /timeout is 1000000000/);
  await refused({ network: { denyOut: ['example.com'] } }, /invalid denied CIDR example\.com/);
  await refused({ autoResume: { enabled: true }, autoPauseMemory: false }, /autoResume/);
  await refused({ iam: { tokens: { a: {} } } }, /iam\.tokens/);
  await refused({ network: { allowPublicTraffic: false } }, /secure/, '/sandboxes');
  await refused({ envVars: { 'A B': 'c' } }, /env/);
  const unknown = await at.e2b('POST', '/v2/sandboxes', { templateID: 'nope' });
  assert.deepEqual(unknown.json, { code: 404, message: "template 'nope' not found" });
  assert.equal((await at.e2b('POST', '/v2/sandboxes')).status, 400);
  assert.equal((await at.e2b('GET', '/sandboxes/x/nothing')).json.code, 404);
  assert.equal(
    (await at.e2b('GET', '/nowhere')).json.error.code,
    'route_not_found',
    'native paths keep their own errors',
  );
});

test('a sandbox that has ended, and one that never was, are 404 everywhere', async () => {
  await using at = await serving();
  const { sandboxID } = await at.create();
  await ended(at.api, sandboxID);
  for (const id of [sandboxID, 'neverexisted', `${sandboxID}-client`]) {
    for (const [method, path, body] of [
      ['GET', '', undefined],
      ['DELETE', '', undefined],
      ['POST', '/connect', {}],
      ['POST', '/timeout', { timeout: 5 }],
      ['POST', '/pause', {}],
      ['POST', '/resume', {}],
      ['POST', '/refreshes', {}],
      ['POST', '/snapshots', {}],
      ['POST', '/fork', {}],
      ['PUT', '/network', {}],
      ['GET', '/metrics', undefined],
      ['GET', '/logs', undefined],
    ] as const) {
      const { status, json } = await at.e2b(method, `/sandboxes/${id}${path}`, body);
      assert.deepEqual([status, json.code], [404, 404], `${method} ${path} ${JSON.stringify(json)}`);
    }
  }
});

test('sandboxes of another key are not there; the scope admin sees all', async () => {
  await using at = await serving();
  const mine = at.as(at.api.keys.create({ name: 'mine', scopes: ['sandboxes'] }).secret!);
  const other = at.as(at.api.keys.create({ name: 'other', scopes: ['sandboxes'] }).secret!);
  const { sandboxID } = (await mine('POST', '/v2/sandboxes', { templateID: IMAGE })).json;
  assert.equal((await mine('GET', `/sandboxes/${sandboxID}`)).status, 200);
  assert.equal((await other('GET', `/sandboxes/${sandboxID}`)).status, 404);
  assert.equal((await other('DELETE', `/sandboxes/${sandboxID}`)).status, 404);
  assert.deepEqual((await other('GET', '/v2/sandboxes')).json, []);
  assert.equal((await at.e2b('GET', '/v2/sandboxes')).json.length, 1);
  const images = at.as(at.api.keys.create({ name: 'images', scopes: ['images'] }).secret!);
  assert.equal((await images('GET', '/v2/sandboxes')).json.code, 403);
});

test('a connect resumes what is paused (201) and leaves what runs as it is (200); pausing twice is 409', async () => {
  await using at = await serving();
  const { sandboxID } = await at.create();
  const connect = () => at.e2b('POST', `/v2/sandboxes/${sandboxID}/connect`, { timeout: 60 });
  assert.equal((await connect()).status, 200);
  assert.equal((await at.e2b('POST', `/sandboxes/${sandboxID}/pause`, {})).status, 204);
  assert.equal((await at.e2b('POST', `/sandboxes/${sandboxID}/pause`)).json.code, 409);
  assert.equal((await at.e2b('POST', `/sandboxes/${sandboxID}/timeout`, { timeout: 5 })).json.code, 409);
  assert.equal((await at.e2b('POST', `/sandboxes/${sandboxID}/fork`, {})).json.code, 409);
  const resumed = await connect();
  assert.equal(resumed.status, 201);
  assert.equal(resumed.json.sandboxID, sandboxID);
  assert.equal((await at.e2b('POST', `/sandboxes/${sandboxID}/resume`, {})).json.code, 409);
});

test('a list has pages of what was asked for', async () => {
  await using at = await serving();
  for (let i = 0; i < 7; i++) await at.create({ metadata: { of: i % 2 ? 'odd' : 'even', n: String(i) } });
  const seen: string[] = [];
  let token: string | null = '';
  for (let pages = 0; token !== null; pages++) {
    assert.ok(pages < 5);
    const page = await at.e2b('GET', `/v2/sandboxes?limit=3${token && `&nextToken=${token}`}`);
    seen.push(...page.json.map((one: { sandboxID: string }) => one.sandboxID));
    token = page.headers.get('x-next-token');
  }
  assert.equal(new Set(seen).size, 7);
  const found = async (query: string) => (await at.e2b('GET', `/v2/sandboxes?${query}`)).json.length;
  assert.equal(await found(`metadata=${encodeURIComponent('of=odd')}`), 3);
  assert.equal(await found(`metadata=${encodeURIComponent('of=odd&n=1')}`), 1);
  assert.equal(await found('state=paused'), 0);
  assert.equal(await found('state=running,paused'), 7);
  assert.equal(await found(`template=${encodeURIComponent(IMAGE)}`), 7);
  assert.equal(await found('template=other'), 0);
  assert.equal(await found('startedAfter=2030-01-01T00:00:00Z'), 0);
  for (const bad of ['limit=0', 'limit=101', 'state=dead', 'order=up', 'startedAfter=soon', 'metadata=x'])
    assert.equal((await at.e2b('GET', `/v2/sandboxes?${bad}`)).json.code, 400, bad);
});

test('forks have a result each: as many as fit, and the error of the others', async () => {
  await using at = await serving();
  const key = at.api.keys.create({ name: 'small', scopes: ['sandboxes'], maxSandboxes: 3 });
  const call = at.as(key.secret!);
  const { sandboxID } = (await call('POST', '/v2/sandboxes', { templateID: IMAGE, metadata: { a: 'b' } })).json;
  const { status, json } = await call('POST', `/sandboxes/${sandboxID}/fork`, { count: 4 });
  assert.equal(status, 201);
  assert.deepEqual(
    json.map((one: { error?: { code: number } }) => one.error?.code),
    [undefined, undefined, 429, 429],
  );
  assert.equal(json[0].sandbox.templateID, IMAGE);
  assert.equal((await call('POST', `/sandboxes/${sandboxID}/fork`, { count: 0 })).json.code, 400);
  assert.equal((await call('POST', `/sandboxes/${sandboxID}/fork`, { count: 101 })).json.code, 400);
});

test('a quota that is used up is 429 with whole seconds to wait', async () => {
  await using at = await serving();
  const call = at.as(at.api.keys.create({ name: 'one', scopes: ['sandboxes'], maxSandboxes: 1 }).secret!);
  await call('POST', '/v2/sandboxes', { templateID: IMAGE });
  const second = await call('POST', '/v2/sandboxes', { templateID: IMAGE });
  assert.deepEqual([second.status, second.json.code], [429, 429]);
  assert.match(second.headers.get('retry-after')!, /^\d+$/);
});

test('a network update replaces what may be reached, not how ports are reached', async () => {
  await using at = await serving();
  const { sandboxID } = await at.create({
    network: { allowOut: ['1.1.1.1'], maskRequestHost: 'a.b' },
    allow_internet_access: true,
  });
  assert.equal((await at.e2b('PUT', `/sandboxes/${sandboxID}/network`, { denyOut: ['8.8.8.8'] })).status, 204);
  const { json } = await at.e2b('GET', `/sandboxes/${sandboxID}`);
  assert.deepEqual(json.network, { denyOut: ['8.8.8.8'], maskRequestHost: 'a.b' });
  assert.equal(json.allowInternetAccess, null);
  assert.equal((await at.e2b('PUT', `/sandboxes/${sandboxID}/network`, { allowOut: ['a.b'] })).json.code, 400);
});

test('a client that left before it had its sandbox leaves none behind', async () => {
  await using at = await serving();
  const { api } = at;
  const gone = new AbortController();
  api.edge.sandboxes.beforeCreate = async () => {
    gone.abort();
    await new Promise((resolve) => setTimeout(resolve, 50));
  };
  const headers = { 'x-api-key': api.secret };
  const body = JSON.stringify({ templateID: IMAGE });
  await assert.rejects(fetch(`${api.url}/v2/sandboxes`, { method: 'POST', headers, body, signal: gone.signal }));
  while (![...api.edge.sandboxes.rows.values()].some(({ state }) => state === 'ended'))
    await new Promise((resolve) => setTimeout(resolve, 10));
});

test('pages of any origin may ask with the headers of the browser client', async () => {
  await using at = await serving();
  const headers = {
    origin: 'https://app.example',
    'access-control-request-method': 'POST',
    'access-control-request-headers': 'e2b-sandbox-id,connect-protocol-version,x-access-token',
  };
  for (const path of ['/v2/sandboxes', '/files', '/sandboxes/x']) {
    const response = await fetch(at.api.url + path, { method: 'OPTIONS', headers });
    assert.equal(response.status, 204, path);
    assert.equal(response.headers.get('access-control-allow-origin'), '*');
    assert.equal(response.headers.get('access-control-allow-headers'), headers['access-control-request-headers']);
  }
});

test('snapshots belong to their key, have pages, and share an id by name', async () => {
  await using at = await serving();
  const mine = at.as(at.api.keys.create({ name: 'mine', scopes: ['sandboxes'] }).secret!);
  const other = at.as(at.api.keys.create({ name: 'other', scopes: ['sandboxes'] }).secret!);
  const { sandboxID } = (await mine('POST', '/v2/sandboxes', { templateID: IMAGE })).json;
  const take = async (name?: string) => (await mine('POST', `/sandboxes/${sandboxID}/snapshots`, { name })).json;
  const plain = await take();
  assert.deepEqual(plain.names, []);
  const first = await take('snap');
  const again = await take('snap');
  const tagged = await take('snap:v2');
  assert.deepEqual(first, again);
  assert.deepEqual(tagged, { snapshotID: `${first.snapshotID}:v2`, names: ['snap:v2'] });
  const page = await mine('GET', '/snapshots?limit=2');
  assert.deepEqual(page.json, [tagged, first]);
  assert.deepEqual((await mine('GET', `/snapshots?limit=2&nextToken=${page.headers.get('x-next-token')}`)).json, [
    plain,
  ]);
  assert.deepEqual((await mine('GET', '/snapshots?name=snap:v2')).json, [tagged]);
  assert.equal((await mine('GET', `/snapshots?sandboxID=${sandboxID}-client`)).json.length, 3);
  assert.deepEqual((await other('GET', '/snapshots')).json, []);
  assert.equal((await other('DELETE', `/templates/${first.snapshotID}`)).json.code, 404);
  assert.equal((await other('POST', '/v2/sandboxes', { templateID: first.snapshotID })).json.code, 404);
  assert.equal((await mine('DELETE', '/templates/snap')).status, 204);
  assert.equal((await mine('DELETE', `/templates/${first.snapshotID}`)).json.code, 404);
  assert.deepEqual((await mine('GET', '/snapshots')).json, [plain]);
  assert.equal((await mine('POST', `/sandboxes/${sandboxID}/snapshots`, { name: 'a b' })).json.code, 400);
});
