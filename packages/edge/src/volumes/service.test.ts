import assert from 'node:assert/strict';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { afterEach, beforeEach, test } from 'node:test';
import { FakeEdge } from '../fakes/fake-edge.ts';

const MIB = 1_048_576;
const me = { keyId: 'k', maxSandboxes: null };
const other = { keyId: 'other', maxSandboxes: null };
let fake: FakeEdge;
beforeEach(async () => {
  fake = await FakeEdge.open();
});
afterEach(() => fake.close());

const make = (name: string, owner = me) => fake.edge.volumes.create({ name, sizeMiB: 16 }, owner);
const withVolume = (name: string, more = {}) => fake.create({ volumes: [{ name, path: '/data' }], ...more });
const code = (wanted: string) => ({ code: wanted });
const write = (id: string, content = 'x') =>
  fake.edge.volumes.files.write(
    id,
    Buffer.from('/file'),
    (async function* () {
      yield Buffer.from(content);
    })(),
    { exclusive: false, parents: false, fsync: false },
  );

test('a name is unique among the volumes of a key, and means that key’s own', async () => {
  const [mine, theirs] = [await make('data'), await make('data', other)];
  await assert.rejects(make('data'), code('volume_exists'));
  const { volumes } = fake.edge;
  assert.equal(volumes.find('data', 'k').id, mine.id);
  assert.equal(volumes.find('data', 'other').id, theirs.id);
  assert.equal(volumes.find(theirs.id, 'k').id, theirs.id, 'by its id anybody’s: who may is for the API to say');
  assert.throws(() => volumes.find('data', 'third'), code('volume_not_found'));
  assert.deepEqual([volumes.owner(mine.id), volumes.owner(theirs.id)], ['k', 'other']);
  assert.notEqual(volumes.token(mine.id), volumes.token(theirs.id));
});

test('two calls at once make one volume of a name', async () => {
  const made = await Promise.allSettled(['a', 'a', 'a'].map((name) => make(name)));
  assert.deepEqual(made.map(({ status }) => status).sort(), ['fulfilled', 'rejected', 'rejected']);
  assert.equal(fake.volumes.list().length, 1);
});

test('a volume that is named like the id of another hides it from nobody else', async () => {
  const victim = await make('secret', other);
  const decoy = await make(victim.id);
  assert.equal(fake.edge.volumes.find(victim.id, 'k').id, decoy.id);
  assert.equal(fake.edge.volumes.find(victim.id, 'other').id, victim.id);
});

test('a list comes in pages, of one key or of all', async () => {
  const made = [];
  for (const name of ['a', 'b', 'c']) made.push((await make(name)).id);
  await make('d', other);
  const { volumes } = fake.edge;
  const first = volumes.list({ limit: 2 }, 'k');
  const second = volumes.list({ limit: 2, cursor: first.nextCursor! }, 'k');
  assert.deepEqual(
    [...first.items, ...second.items].map(({ id }) => id),
    made,
  );
  assert.equal(second.nextCursor, null);
  assert.equal(volumes.list({ limit: 10 }).items.length, 4);
});

test('a volume is in use from the create of a sandbox to its end, through pauses and restarts', async () => {
  const { id } = await make('data');
  const sandbox = await withVolume('data');
  assert.deepEqual(sandbox.volumes, [{ id, name: 'data', path: '/data', readOnly: false }]);
  const inUse = (error: { code: string; details: { sandboxes?: string[] } }) =>
    error.code === 'volume_in_use' && error.details.sandboxes?.[0] === sandbox.id;
  await assert.rejects(fake.edge.volumes.remove(id), inUse);
  await fake.edge.sandboxes.pause(sandbox.id, { memory: false });
  await assert.rejects(fake.edge.volumes.remove(id), inUse);
  await fake.restart();
  await assert.rejects(fake.edge.volumes.remove(id), inUse);
  assert.deepEqual(fake.edge.volumes.find(id, 'k').sandboxes, [sandbox.id]);
  await fake.edge.sandboxes.kill(sandbox.id);
  await fake.edge.volumes.remove(id);
  assert.deepEqual(fake.volumes.list(), []);
});

test('a fork has the volumes of its original', async () => {
  const { id } = await make('data');
  const sandbox = await withVolume('data');
  const [fork] = await fake.edge.sandboxes.fork(sandbox.id, { count: 1 }, me);
  assert.deepEqual(fork!.volumes, sandbox.volumes);
  assert.deepEqual(fake.edge.volumes.find(id, 'k').sandboxes.sort(), [sandbox.id, fork!.id].sort());
});

test('a volume that is being removed is found by nobody, and no sandbox gets it', async () => {
  const { id } = await make('data');
  const { promise: held, resolve: go } = Promise.withResolvers<void>();
  fake.volumes.before = () => held;
  const removing = fake.edge.volumes.remove(id);
  assert.throws(() => fake.edge.volumes.find('data', 'k'), code('volume_not_found'));
  assert.deepEqual(fake.edge.volumes.list({ limit: 10 }).items, []);
  await assert.rejects(withVolume('data'), code('volume_not_found'));
  await assert.rejects(write(id), code('volume_not_found'));
  const again = make('data');
  go();
  await removing;
  assert.notEqual((await again).id, id);
});

test('what was half made or half removed when the edge died is gone afterwards', async () => {
  const { id } = await make('kept');
  await write(id);
  fake.volumes.before = () => new Promise(() => {});
  void make('half').catch(() => {});
  const { id: doomed } = await (async () => {
    fake.volumes.before = async () => {};
    const made = await make('doomed');
    fake.volumes.before = () => new Promise(() => {});
    return made;
  })();
  void fake.edge.volumes.remove(doomed).catch(() => {});
  fake.volumes.before = async () => {};
  await fake.restart();
  assert.deepEqual(
    fake.edge.volumes.list({ limit: 10 }).items.map(({ name }) => name),
    ['kept'],
  );
  assert.deepEqual(fake.volumes.list(), [id]);
  assert.equal((await fake.edge.volumes.files.stat(id, Buffer.from('file'))).sizeBytes, 1);
});

test('a volume whose files are gone is forgotten; files that no row knows stay', async () => {
  const { id } = await make('lost');
  await fake.volumes.remove(id);
  mkdirSync(fake.volumes.directory('zzzzzzzzzzzzzzzzzzzz'), { recursive: true });
  await fake.restart();
  assert.deepEqual(fake.edge.volumes.list({ limit: 10 }).items, []);
  assert.ok(existsSync(fake.volumes.directory('zzzzzzzzzzzzzzzzzzzz')));
});

test('a node whose volumes can not be mounted says so, keeps them, and serves the rest', async () => {
  const { id } = await make('data');
  fake.volumes.trouble = 'the file system is damaged';
  await fake.restart();
  await assert.rejects(make('more'), /the file system is damaged/);
  assert.equal(fake.edge.volumes.find('data', 'k').id, id);
  await assert.rejects(withVolume('data'), code('unsupported'));
  await assert.rejects(fake.edge.volumes.remove(id), code('unsupported'));
  await assert.rejects(write(id), code('unsupported'));
  await fake.create();
  fake.volumes.trouble = null;
  await fake.restart();
  await withVolume('data');
});

test('a full disk of the node takes no new volumes and no writes from outside', async () => {
  await fake.close();
  fake = await FakeEdge.open({ minFreeDiskBytes: 512 * MIB });
  const { id } = await make('data');
  fake.volumes.room = 300 * MIB;
  await assert.rejects(make('more'), code('node_disk_full'));
  await write(id);
  fake.volumes.room = 200 * MIB;
  assert.throws(() => write(id), code('node_disk_full'));
});

test('while the disk is nearly full volumes hold what they hold and no more; later they may grow again', async () => {
  const { id } = await make('data');
  const ticks = async () => {
    await fake.clock.advance(500);
    await new Promise(setImmediate);
  };
  await ticks();
  assert.equal(fake.volumes.limits.get(id), 16 * MIB);
  fake.volumes.used = 3 * MIB;
  fake.volumes.room = 500 * MIB;
  await ticks();
  assert.equal(fake.volumes.limits.get(id), 3 * MIB);
  fake.volumes.room = 800 * MIB;
  await ticks();
  assert.equal(fake.volumes.limits.get(id), 3 * MIB, 'not at the edge of it');
  fake.volumes.room = 2000 * MIB;
  await ticks();
  assert.equal(fake.volumes.limits.get(id), 16 * MIB);
});

test('only containers have volumes, and the others say why', async () => {
  await make('data');
  await assert.rejects(withVolume('data', { kind: 'vm' }), (error: { code: string; message: string }) => {
    assert.equal(error.code, 'unsupported');
    return true;
  });
});

test('a command is told when a volume was full, unless it can only read it', async () => {
  await make('data');
  const sandbox = await withVolume('data');
  fake.volumes.used = 16 * MIB;
  assert.deepEqual((await fake.run(sandbox.id, ['exit', '1'])).annotations, ['disk_limit']);
  const reader = await fake.create({ volumes: [{ name: 'data', path: '/data', readOnly: true }] });
  assert.deepEqual((await fake.run(reader.id, ['exit', '1'])).annotations, []);
});

test('what was on its way in when the edge died is swept at its start', async () => {
  const { id } = await make('data');
  writeFileSync(`${fake.volumes.staging(id)}/upload-1`, 'x');
  await fake.restart();
  for (let i = 0; existsSync(`${fake.volumes.staging(id)}/upload-1`); i++) {
    assert.ok(i < 1000);
    await new Promise(setImmediate);
  }
});
