import assert from 'node:assert/strict';
import { test } from 'node:test';
import { served } from '../testing/served.ts';

test('a command runs to its end and answers with its output', async () => {
  await using api = await served();
  const { id } = await api.create();
  const { status, json } = await api.call('POST', `/v1/sandboxes/${id}/execs`, { argv: ['echo', 'hi', 'there'] });
  assert.equal(status, 200);
  assert.equal(Buffer.from(json.stdoutB64, 'base64').toString(), 'hi there\n');
  assert.deepEqual(json.outcome, { type: 'exited', code: 0 });
});

test('a detached command answers 202 without output, and can be listed, signalled, resized and canceled', async () => {
  await using api = await served();
  const { id } = await api.create();
  const at = `/v1/sandboxes/${id}/execs`;
  const { status, json } = await api.call('POST', at, { command: 'sleep 9', detach: true }, { 'idempotency-key': 'k' });
  assert.equal(status, 202);
  assert.equal('stdoutB64' in json, false);
  assert.match(api.edge.execs.idempotencies[0]!.key, /^[a-z0-9]{20}:k$/);
  assert.equal((await api.call('GET', at)).json.items[0].id, json.id);
  assert.equal((await api.call('GET', `${at}/${json.id}`)).json.state, 'running');
  assert.equal((await api.call('POST', `${at}/${json.id}/signal`)).status, 204, 'an empty body is the default signal');
  assert.equal((await api.call('POST', `${at}/${json.id}/signal`, { signal: 'KILL', scope: 'tree' })).status, 204);
  assert.deepEqual(api.edge.execs.signals, [
    { signal: 'TERM', scope: 'process' },
    { signal: 'KILL', scope: 'tree' },
  ]);
  assert.equal((await api.call('POST', `${at}/${json.id}/resize`, { rows: 30, cols: 100 })).status, 204);
  assert.equal((await api.call('DELETE', `${at}/${json.id}`)).status, 204);
  assert.deepEqual((await api.call('GET', `${at}/${json.id}/result?waitMs=5`)).json.outcome, { type: 'canceled' });
  assert.equal((await api.call('POST', `${at}/${json.id}/signal`, {})).json.error.code, 'exec_not_running');
});

test('bad commands are refused by name', async () => {
  await using api = await served();
  const { id } = await api.create();
  const at = `/v1/sandboxes/${id}/execs`;
  const message = async (body: unknown) => (await api.call('POST', at, body)).json.error.message;
  assert.match(await message({}), /exactly one of argv and command/);
  assert.match(await message({ argv: ['a'], command: 'a' }), /exactly one of argv and command/);
  assert.match(await message({ argv: ['a\0b'] }), /argv\[0\]: no NUL/);
  assert.match(await message({ argv: ['a'], user: 'a b' }), /user: a user is/);
  assert.equal((await api.call('GET', `${at}/abcdefghij0123456789`)).json.error.code, 'exec_not_found');
  await api.call('DELETE', `/v1/sandboxes/${id}`);
  assert.equal((await api.call('POST', at, { argv: ['true'] })).status, 410);
});
