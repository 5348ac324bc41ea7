import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { served } from '../testing/served.ts';
import { ensureFirstKey } from './first-key.ts';
import { SqliteKeyStore } from './sqlite-key-store.ts';

test('a request without a key, with a wrong one or with a revoked one is refused', async () => {
  await using api = await served();
  const status = async (headers: Record<string, string>) => {
    const response = await fetch(`${api.url}/v1/node`, { headers });
    return `${response.status} ${((await response.json()) as { error?: { message: string } }).error?.message ?? ''}`;
  };
  assert.match(await status({}), /401 no API key given/);
  assert.match(await status({ authorization: 'Bearer nonsense' }), /401 the API key is not known/);
  assert.match(await status({ authorization: `Bearer viv_${'0'.repeat(40)}` }), /401/);
  assert.match(await status({ 'x-api-key': api.secret }), /^200/);
  assert.match(await status({ authorization: `bearer ${api.secret}` }), /^200/);
  const { id, secret } = api.keys.create({ name: 'brief', scopes: ['sandboxes'] });
  assert.match(await status({ authorization: `Bearer ${secret}` }), /^200/);
  assert.equal((await api.call('DELETE', `/v1/keys/${id}`)).status, 204);
  assert.match(await status({ authorization: `Bearer ${secret}` }), /401/);
});

test('scopes are kept: what a key lacks is named', async () => {
  await using api = await served();
  const { secret } = api.keys.create({ name: 'images only', scopes: ['images'] });
  const call = (method: string, path: string, body?: unknown) =>
    api.call(method, path, body, { authorization: `Bearer ${secret}` });
  const refused = await call('POST', '/v1/sandboxes', { image: 'base/debian@12' });
  assert.deepEqual([refused.status, refused.json.error.code], [403, 'forbidden']);
  assert.match(refused.json.error.message, /lacks the scope sandboxes/);
  assert.equal((await call('GET', '/v1/images')).status, 200);
  assert.equal((await call('GET', '/v1/keys')).status, 403);
});

test('keys are made, listed without their secrets and revoked over the API', async () => {
  await using api = await served();
  const made = (await api.call('POST', '/v1/keys', { name: 'ci', maxSandboxes: 4 })).json;
  assert.match(made.secret, /^viv_[0-9a-f]{40}$/);
  assert.deepEqual(made.scopes, ['sandboxes', 'images']);
  const listed = (await api.call('GET', '/v1/keys?limit=10')).json.items;
  assert.deepEqual(
    listed.map((key: { name: string }) => key.name),
    ['test', 'ci'],
  );
  assert.ok(listed.every((key: object) => !('secret' in key)));
  assert.equal((await api.call('DELETE', `/v1/keys/${'0'.repeat(20)}`)).json.error.code, 'key_not_found');
});

test('keys survive a restart, and only hashes are on disk', () => {
  const directory = mkdtempSync(join(tmpdir(), 'viv-keys-'));
  const file = join(directory, 'sub', 'keys.db');
  const before = new SqliteKeyStore(file);
  const { secret, id } = before.create({ name: 'a', scopes: ['admin'], maxSandboxes: 3 });
  before.close();
  const after = new SqliteKeyStore(file);
  assert.equal(after.verify(secret!)?.id, id);
  assert.equal(after.verify(secret!)?.maxSandboxes, 3);
  after.close();
  assert.ok(!readFileSync(file).includes(secret!));
  rmSync(directory, { recursive: true });
});

test('the first key is made once, in a file for its owner only, and made anew when the file is useless', () => {
  const directory = mkdtempSync(join(tmpdir(), 'viv-keys-'));
  const keys = new SqliteKeyStore(join(directory, 'keys.db'));
  const file = join(directory, 'keys', 'first.key');
  const secret = ensureFirstKey(keys, file);
  assert.equal(statSync(file).mode & 0o777, 0o600);
  assert.equal(readFileSync(file, 'utf8'), `${secret}\n`);
  assert.equal(ensureFirstKey(keys, file), secret);
  assert.deepEqual(keys.verify(secret)?.scopes, ['sandboxes', 'images', 'admin']);
  writeFileSync(file, 'garbage');
  assert.notEqual(ensureFirstKey(keys, file), secret);
  keys.close();
  rmSync(directory, { recursive: true });
});
