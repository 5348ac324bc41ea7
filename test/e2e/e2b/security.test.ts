import assert from 'node:assert/strict';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { type ClientRequest, request } from 'node:http';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { e2bSecret } from '@vivarium/sdk';
import { getSignature, NotFoundError, Sandbox, Secret, Template, Volume } from 'e2b';
import { type E2bNode, startE2bNode } from '../../harness/e2b.ts';
import { freePort } from '../../harness/registry.ts';

const DOMAIN = 'sandboxes.test';

let node: E2bNode;
let mine: Sandbox;
let other: Sandbox;
before(async () => {
  const port = await freePort();
  node = await startE2bNode({ port, up: { domain: `${DOMAIN}:${port}` } });
  [mine, other] = [await node.create({ timeoutMs: 3_600_000 }), await node.create({ timeoutMs: 3_600_000 })];
  await mine.files.write('/home/user/whose', 'mine');
  await other.files.write('/home/user/whose', 'other');
});
after(() => node.close());

test('a sandbox opens to its own access token alone', async () => {
  const wrong = [tokenOf(other), node.connection.apiKey, node.node.key, '', 'x', `${tokenOf(mine)} `.repeat(2)];
  for (const token of wrong) {
    const list = await rpc(mine, 'process.Process/List', {}, { 'x-access-token': token });
    assert.deepEqual([list.status, JSON.parse(list.text).code], [401, 'unauthenticated'], token);
    const file = await files(mine, 'GET', '/home/user/whose', { 'x-access-token': token });
    assert.deepEqual([file.status, JSON.parse(file.text).code], [401, 401], token);
  }
  const right = await files(mine, 'GET', '/home/user/whose', { 'x-access-token': tokenOf(mine) });
  assert.deepEqual([right.status, right.text], [200, 'mine']);
  for (const secret of [tokenOf(mine), `e2b_${tokenOf(mine)}`, `Bearer ${tokenOf(mine)}`]) {
    const { status } = await node.call('GET', '/v2/sandboxes', undefined, { 'x-api-key': secret });
    assert.equal(status, 401, 'an access token is no API key');
  }
});

test('the host says where a request goes; headers count only where it says nothing', async () => {
  const token = tokenOf(mine);
  const toOther = { 'e2b-sandbox-id': other.sandboxId, 'e2b-sandbox-port': '49983', 'x-access-token': token };
  const path = '/files?path=%2Fhome%2Fuser%2Fwhose&username=user';
  const byHost = await send('GET', path, { ...toOther, host: `49983-${mine.sandboxId}.${DOMAIN}` });
  assert.deepEqual([byHost.status, byHost.text], [200, 'mine']);
  for (const host of [
    'evil.example',
    `x.${DOMAIN}`,
    `${DOMAIN}.evil.example`,
    `49983-${mine.sandboxId}.evil.example`,
    'localhost.evil.example',
  ]) {
    const { status, text } = await send('GET', path, { ...toOther, 'e2b-sandbox-id': mine.sandboxId, host });
    assert.ok(status >= 400 && text !== 'mine', `${host}: ${status} ${text}`);
  }
  for (const port of ['0', '65536', '49983x', '-1', ' ', '1e3', '0x50']) {
    const { status } = await send('GET', '/', { 'e2b-sandbox-id': mine.sandboxId, 'e2b-sandbox-port': port });
    assert.equal(status, 400, port);
  }
  for (const id of ['../x', `${mine.sandboxId}/../${other.sandboxId}`, '%2e%2e', 'A'.repeat(20), 'é']) {
    const { status } = await send('GET', path, { ...toOther, 'e2b-sandbox-id': encodeURI(id) });
    assert.equal(status, 502, id);
  }
});

test('a signature is for one sandbox, file, operation, user and time', async () => {
  const good = await mine.downloadUrl('/home/user/whose', { useSignatureExpiration: 600 });
  assert.equal(await (await fetch(good)).text(), 'mine');
  const changed = (change: (query: URLSearchParams) => void) => {
    const url = new URL(good);
    change(url.searchParams);
    return url;
  };
  const bad = [
    changed((query) => query.set('path', '/etc/passwd')),
    changed((query) => query.set('username', 'root')),
    changed((query) => query.set('signature_expiration', '99999999999')),
    changed((query) => query.delete('signature_expiration')),
    changed((query) => query.set('signature', flipped(query.get('signature')!))),
    changed((query) => query.append('path', '/etc/passwd')),
    changed((query) => query.append('username', 'root')),
  ];
  for (const url of bad) {
    const response = await fetch(url);
    const text = await response.text();
    assert.ok(
      response.status === 401 || response.status === 400,
      `${url.search}: ${response.status} ${text.slice(0, 80)}`,
    );
  }
  const write = await fetch(good, {
    method: 'POST',
    body: new Blob(['x']),
    headers: { 'content-type': 'application/octet-stream' },
  });
  assert.equal(write.status, 401);
  const elsewhere = await fetch(good, { headers: { 'e2b-sandbox-id': other.sandboxId, 'e2b-sandbox-port': '49983' } });
  assert.equal(elsewhere.status, 401);
  const forged = await getSignature({
    path: '/home/user/whose',
    operation: 'read',
    user: 'user',
    envdAccessToken: tokenOf(other),
  });
  const asMine = await files(mine, 'GET', '/home/user/whose', {}, `&signature=${encodeURIComponent(forged.signature)}`);
  assert.equal(asMine.status, 401);
});

test('paths and users that can not be are refused', async () => {
  const headers = { ...of(mine), 'x-access-token': tokenOf(mine) };
  for (const query of [
    'path=/tmp/a%00b',
    'path=%ff%fe',
    'path=',
    'path=/etc/passwd&username=a%00b',
    'path=/etc/passwd&username=../x',
  ]) {
    const { status } = await send('GET', `/files?${query}`, headers);
    assert.ok(status >= 400 && status < 500, `${query}: ${status}`);
  }
  assert.equal((await files(mine, 'GET', '/etc/passwd', headers, '', 'no-such-user')).status, 401);
});

test('a key sees nothing of another key, and changes nothing', async () => {
  const { secret } = await node.node.viv.keys.create({ name: 'stranger', scopes: ['sandboxes'] });
  const stranger = { ...node.connection, apiKey: e2bSecret(secret!) };
  const id = mine.sandboxId;
  const { snapshotId } = await mine.createSnapshot({ name: 'private' });
  const volume = await Volume.create('private');
  const hidden = await Secret.create('private', 'value');
  const built = await Template.build(Template().fromTemplate('base').runCmd('true'), 'private-template:v1');
  assert.deepEqual(await Sandbox.list(stranger).nextItems(), []);
  assert.deepEqual(await Sandbox.listSnapshots(stranger).nextItems(), []);
  assert.deepEqual(await Volume.list(stranger), []);
  assert.deepEqual(await Secret.list(stranger).nextItems(), []);
  for (const attempt of [
    () => Sandbox.getInfo(id, stranger),
    () => Sandbox.connect(id, stranger),
    () => Sandbox.setTimeout(id, 1000, stranger),
    () => Sandbox.pause(id, stranger),
    () => Sandbox.fork(id, stranger),
    () => Sandbox.createSnapshot(id, stranger),
    () => Sandbox.updateNetwork(id, {}, stranger),
    () => Sandbox.getMetrics(id, stranger),
    () => Volume.getInfo(volume.volumeId, stranger),
  ]) {
    await assert.rejects(attempt, (error: Error) => error instanceof NotFoundError || /not found/i.test(String(error)));
  }
  await assert.rejects(Sandbox.create(snapshotId, stranger), /404/);
  await assert.rejects(Sandbox.create('private-template:v1', stranger), /404|403/);
  await assert.rejects(Sandbox.create('base', { ...stranger, volumeMounts: { '/mnt': 'private' } }), /404|not found/i);
  await assert.rejects(Template.getTags(built.templateId, stranger), /404|403/);
  await assert.rejects(Template.assignTags('private-template:v1', 'mine', stranger), /404|403/);
  await assert.rejects(Template.getBuildStatus(built, stranger), /404|403/);
  assert.equal(await Sandbox.kill(id, stranger), false);
  assert.equal(await Sandbox.deleteSnapshot(snapshotId, stranger), false);
  assert.equal(await Volume.destroy(volume.volumeId, stranger), false);
  assert.equal(await Secret.exists(hidden.secretId, stranger), false);
  assert.equal(await mine.isRunning(), true);
  assert.equal((await Sandbox.listSnapshots({ sandboxId: id }).nextItems()).length, 1);
});

test('the files of a volume are for holders of its token', async () => {
  const [volume, another] = [await Volume.create('first'), await Volume.create('second')];
  await volume.writeFile('/secret', 'of the first');
  const url = `/volumecontent/${volume.volumeId}/file?path=%2Fsecret`;
  for (const authorization of [
    '',
    `Bearer ${another.token}`,
    `Bearer ${node.connection.apiKey}`,
    `Bearer ${tokenOf(mine)}`,
    volume.token,
  ]) {
    const { status, text } = await send('GET', url, authorization === '' ? {} : { authorization });
    assert.ok(status === 401 || status === 403, `${authorization.slice(0, 12)}: ${status} ${text}`);
  }
  const headers = { authorization: `Bearer ${volume.token}` };
  for (const path of ['/../../etc/passwd', '/../second/secret', '..%2F..%2F..%2Fetc%2Fpasswd', '/a%00b']) {
    const { status, text } = await send('GET', `/volumecontent/${volume.volumeId}/file?path=${path}`, headers);
    assert.ok(status >= 400 && !text.includes('root:'), `${path}: ${status}`);
  }
});

test('uploads for builds go nowhere without their own URL', async () => {
  for (const path of [
    '/templates/uploads/nonsense',
    '/templates/uploads/..%2f..%2fkeys',
    `/templates/uploads/${'a'.repeat(64)}`,
  ]) {
    const { status } = await send('PUT', path, { 'content-type': 'application/octet-stream' }, 'x'.repeat(1000));
    assert.ok(status >= 400 && status < 500, `${path}: ${status}`);
  }
  const { templateID } = (await node.call('POST', '/v3/templates', { name: 'traversal' })).body;
  for (const hash of ['..%2f..%2fkeys%2ffirst.key', '%2e%2e', 'A'.repeat(300)]) {
    const { status } = await send('GET', `/templates/${templateID}/files/${hash}`, {
      'x-api-key': node.connection.apiKey,
    });
    assert.ok(status >= 400 && status < 500, `${hash}: ${status}`);
  }
});

test('what is too large is refused, and others are served meanwhile', async () => {
  const large = 'x'.repeat(80 << 20);
  const create = await send(
    'POST',
    '/v2/sandboxes',
    { 'x-api-key': node.connection.apiKey, 'content-type': 'application/json' },
    `{"templateID":"${large}"}`,
  );
  assert.ok([400, 413].includes(create.status), String(create.status));
  const headers = { ...of(mine), 'x-access-token': tokenOf(mine), 'content-type': 'application/json' };
  const message = await send(
    'POST',
    '/process.Process/SendInput',
    headers,
    `{"process":{"pid":1},"input":{"stdin":"${large}"}}`,
  );
  assert.ok([400, 413, 429].includes(message.status), String(message.status));
  const metadata = Object.fromEntries(Array.from({ length: 65 }, (_, n) => [`key${n}`, 'x']));
  assert.equal((await node.call('POST', '/v2/sandboxes', { templateID: 'base', metadata })).status, 400);
  const deep = `${'['.repeat(100_000)}${']'.repeat(100_000)}`;
  assert.equal(
    (
      await send(
        'POST',
        '/v2/sandboxes',
        { 'x-api-key': node.connection.apiKey, 'content-type': 'application/json' },
        deep,
      )
    ).status,
    400,
  );
  assert.equal((await mine.commands.run('echo served')).stdout, 'served\n');
});

test('hundreds of streams that nobody reads do not keep others from being served', async () => {
  const streams = Array.from({ length: 300 }, () => unread(mine, 'yes'));
  assert.equal((await other.commands.run('echo served')).stdout, 'served\n');
  await delay(2000);
  assert.equal((await other.commands.run('echo still')).stdout, 'still\n');
  assert.ok(rssMiB(node.node.serverPid()) < 1500, `${rssMiB(node.node.serverPid())} MiB`);
  for (const stream of streams) stream.destroy();
  await mine.kill();
  assert.equal((await other.commands.run('echo after')).stdout, 'after\n');
});

test('no key, token, signature or secret is in a log', async () => {
  const url = await other.downloadUrl('/home/user/whose');
  await fetch(url);
  await fetch(`${url}&broken`);
  await Secret.create('logged', 'value-that-nobody-may-see');
  const volume = await Volume.create('logged');
  const secrets = {
    key: node.node.key.slice(4),
    token: tokenOf(other),
    signature: new URL(url).searchParams.get('signature')!.slice(3),
    value: 'value-that-nobody-may-see',
    volume: volume.token,
  };
  const directory = join(node.node.paths.stateDir, 'log');
  const logs = readdirSync(directory).filter((name) => statSync(join(directory, name)).isFile());
  assert.ok(logs.includes('server.log'), logs.join(', '));
  for (const name of logs) {
    const text = readFileSync(join(directory, name), 'utf8');
    const told = Object.entries(secrets).filter(([, secret]) => text.includes(secret));
    assert.deepEqual(
      told.map(([kind]) => kind),
      [],
      name,
    );
  }
});

type Answer = { status: number; text: string };

/** As the client has it; it shows it to nobody. */
function tokenOf(sandbox: Sandbox): string {
  return (sandbox as unknown as { envdAccessToken: string }).envdAccessToken;
}

const of = (sandbox: Sandbox) => ({ 'e2b-sandbox-id': sandbox.sandboxId, 'e2b-sandbox-port': '49983' });

function rpc(sandbox: Sandbox, method: string, message: object, headers: Record<string, string>): Promise<Answer> {
  return send(
    'POST',
    `/${method}`,
    { ...of(sandbox), 'content-type': 'application/json', ...headers },
    JSON.stringify(message),
  );
}

function files(
  sandbox: Sandbox,
  method: string,
  path: string,
  headers: Record<string, string>,
  query = '',
  user = 'user',
): Promise<Answer> {
  return send(method, `/files?path=${encodeURIComponent(path)}&username=${user}${query}`, {
    ...of(sandbox),
    ...headers,
  });
}

/** A command whose output is asked for and not taken. */
function unread(sandbox: Sandbox, command: string): ClientRequest {
  const { port } = new URL(node.node.url);
  const headers = { ...of(sandbox), 'x-access-token': tokenOf(sandbox), 'content-type': 'application/connect+json' };
  const message = Buffer.from(JSON.stringify({ process: { cmd: '/bin/bash', args: ['-c', command] } }));
  const frame = Buffer.alloc(5);
  frame.writeUInt32BE(message.length, 1);
  const req = request({
    host: '127.0.0.1',
    port,
    method: 'POST',
    path: '/process.Process/Start',
    headers,
    agent: false,
  });
  req.on('error', () => {});
  req.on('response', (res) => res.pause());
  req.end(Buffer.concat([frame, message]));
  return req;
}

/** Another one of the same form. */
function flipped(signature: string): string {
  return `${signature.slice(0, 10)}${signature[10] === 'A' ? 'B' : 'A'}${signature.slice(11)}`;
}

/** Any header, the host's too. An answer may come before all of the body is sent. */
function send(method: string, path: string, headers: Record<string, string>, body?: string): Promise<Answer> {
  const { port } = new URL(node.node.url);
  return new Promise((resolve, reject) => {
    const length: Record<string, number> = body === undefined ? {} : { 'content-length': Buffer.byteLength(body) };
    const req = request(
      { host: '127.0.0.1', port, method, path, headers: { ...length, ...headers }, agent: false },
      (res) => {
        let text = '';
        res.on('data', (chunk) => {
          text += chunk;
        });
        res.on('error', () => {});
        res.on('close', () => resolve({ status: res.statusCode!, text }));
      },
    );
    req.on('error', reject);
    req.end(body);
  });
}

function rssMiB(pid: number): number {
  return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024;
}
