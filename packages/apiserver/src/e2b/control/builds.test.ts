import assert from 'node:assert/strict';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { served } from '../../testing/served.ts';
import { type BuildRow, BuildTable } from '../store/build-table.ts';
import { BuildLog } from './builds-log.ts';

const QUIET = { error: () => {} };

const row = (template: string, id: string, status: BuildRow['status']): BuildRow => ({
  id,
  template,
  status,
  cpus: null,
  memoryMiB: null,
  diskMiB: null,
  tags: ['default'],
  startCmd: '',
  readyCmd: '',
  ports: [],
  reason: null,
  createdAtMs: 1,
  updatedAtMs: 1,
  finishedAtMs: null,
});

async function serving() {
  const api = await served();
  const { secret, id } = api.keys.create({ name: 'one', scopes: ['sandboxes'] });
  const other = api.keys.create({ name: 'two', scopes: ['sandboxes'] }).secret!;
  const as = async (key: string, method: string, path: string, body?: object) => {
    const init = { method, headers: { 'x-api-key': key }, ...(body && { body: JSON.stringify(body) }) };
    const response = await fetch(api.url + path, init);
    return { status: response.status, json: (await response.json()) as Record<string, never> };
  };
  return { ...api, as, one: secret!, owner: id, other };
}

test('what a build said is told to its owner only, also of a public template', async () => {
  await using api = await serving();
  const { templates, builds } = api.store;
  const template = 'abcdefghij0123456789';
  templates.insert({ id: template, owner: api.owner, name: 'open' }, 1);
  templates.setPublic(template, true, 1);
  builds.put(row(template, 'the-build', 'ready'));
  const log = new BuildLog(builds, 'the-build', () => 1, QUIET);
  log.put('info', '1', 'the token is s3cret');
  log.flush();
  assert.equal((await api.as(api.other, 'GET', `/templates/${template}`)).status, 200);
  for (const what of ['logs', 'status']) {
    const path = `/templates/${template}/builds/the-build/${what}`;
    assert.match(JSON.stringify((await api.as(api.one, 'GET', path)).json), /s3cret/);
    const refused = await api.as(api.other, 'GET', path);
    assert.equal(refused.status, 403);
    assert.doesNotMatch(JSON.stringify(refused.json), /s3cret/);
  }
});

test('builds that nobody starts are not piled up', async () => {
  await using api = await serving();
  const ask = () => api.as(api.one, 'POST', '/v3/templates', { name: 'many' });
  for (let i = 0; i < 100; i++) assert.equal((await ask()).status, 202);
  const { status, json } = await ask();
  assert.equal(status, 429);
  assert.match(json.message!, /100 builds of template 'many' wait to be started/);
});

test('a log of a build ends at its bound, which is said once, and tells of the end all the same', async () => {
  await using api = await serving();
  const log = new BuildLog(api.store.builds, 'x', () => 1, QUIET);
  for (let i = 0; i < 3000; i++) log.put('info', '1', 'x'.repeat(10_000));
  log.put('error', '1', 'Build failed: x');
  assert.ok(log.entries.reduce((sum, { message }) => sum + message.length, 0) < 9_000_000);
  assert.match(log.entries.at(-2)!.message, /the rest is left out/);
  assert.equal(log.entries.at(-1)!.message, 'Build failed: x');
  log.flush();
});

test('builds that fail are forgotten but for the last ones', async () => {
  await using api = await serving();
  let template = '';
  for (let i = 0; i < 8; i++) {
    const { json } = await api.as(api.one, 'POST', '/v3/templates', { name: 'failing' });
    template = json.templateID!;
    const path = `/templates/${template}/builds/${json.buildID}`;
    await api.as(api.one, 'POST', `/v2${path}`, { fromTemplate: 'nothing-of-that-name' });
    while ((await api.as(api.one, 'GET', `${path}/status`)).json.status === 'building');
  }
  const waiting = await api.as(api.one, 'POST', '/v3/templates', { name: 'failing' });
  const left = api.store.builds.ofTemplate(template);
  assert.deepEqual(
    left.map(({ status }) => status),
    ['waiting', 'error', 'error', 'error', 'error', 'error'],
  );
  assert.equal(left[0]!.id, waiting.json.buildID);
});

test('a database that takes no more ends neither the server nor the rest of the log', async (t) => {
  await using api = await serving();
  const { json } = await api.as(api.one, 'POST', '/v3/templates', { name: 'full' });
  const { builds } = api.store;
  const full = () => {
    throw new Error('database or disk is full');
  };
  const append = t.mock.method(builds, 'appendLog', full);
  const path = `/templates/${json.templateID}/builds/${json.buildID}`;
  const put = builds.put.bind(builds);
  t.mock.method(builds, 'put', (row: BuildRow) => (row.status === 'building' ? put(row) : full()));
  await api.as(api.one, 'POST', `/v2${path}`, { fromTemplate: 'nothing-of-that-name' });
  while (!api.log.some((line) => line.includes('the end of a build was not kept')))
    await new Promise((resolve) => setTimeout(resolve, 5));
  assert.ok(api.log.some((line) => line.includes('the log of a build was not kept')));

  t.mock.timers.enable({ apis: ['setTimeout'] });
  const log = new BuildLog(builds, 'x', () => 1, QUIET);
  log.put('info', '', 'one');
  t.mock.timers.tick(1000);
  append.mock.restore();
  log.put('info', '', 'two');
  t.mock.timers.tick(1000);
  assert.deepEqual(
    builds.log('x').map(({ message }) => message),
    ['one', 'two'],
  );
});

test('a transaction that the database has ended itself fails with its own error', async () => {
  const database = new DatabaseSync(':memory:');
  const builds = new BuildTable(database);
  builds.appendLog('x', 0, []);
  const pages = Number(database.prepare('PRAGMA page_count').get()!.page_count);
  database.exec(`PRAGMA max_page_count = ${pages}`);
  const entries = Array.from({ length: 2000 }, () => ({
    atMs: 1,
    level: 'info' as const,
    step: '',
    message: 'x'.repeat(4000),
  }));
  assert.throws(() => builds.appendLog('x', 0, entries), /full/);
  database.exec('PRAGMA max_page_count = 100000');
  builds.appendLog('x', 0, entries.slice(0, 1));
  assert.equal(builds.log('x').length, 1);
  database.close();
});
