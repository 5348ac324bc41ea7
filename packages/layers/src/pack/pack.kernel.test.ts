import '../testing/private-mounts.ts';
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  closeSync,
  ftruncateSync,
  linkSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { VivError } from '@vivarium/protocol';
import { mountTmpfs } from '../testing/mount.ts';
import { place } from '../testing/place.ts';
import { fillSmall, listing, makeWorld, OLD, overlayOn, type World } from '../testing/world.ts';
import { setXattr } from '../tree/xattr.ts';

const fails = (code: string) => (error: unknown) => error instanceof VivError && error.code === code;
const inside = (world: World) => (name: string) => join(world.root, name);

test('an image of a pack shows what the sandbox saw: links, capabilities, odd names, pipes, attributes, modes', async (t) => {
  const ground = place(t);
  const world = await makeWorld(ground, fillSmall);
  const at = inside(world);
  writeFileSync(at('app/new\nline'), 'x');
  writeFileSync(Buffer.concat([Buffer.from(at('app/')), Buffer.from([0xff, 0xfe])]), 'not utf-8');
  linkSync(at('app/new\nline'), at('app/linked'));
  symlinkSync('../nowhere', at('app/symlink'));
  symlinkSync('x'.repeat(4000), at('app/long-link'));
  execFileSync('mkfifo', [at('app/fifo')]);
  writeFileSync(at('app/ping'), 'elf');
  const capability = Buffer.from('0100000200200000000000000000000000000000', 'hex');
  setXattr(Buffer.from(at('app/ping')), 'security.capability', capability);
  setXattr(Buffer.from(at('app/ping')), 'user.big', Buffer.alloc(3000, 7));
  writeFileSync(at('app/suid'), 'x');
  chmodSync(at('app/suid'), 0o6755);
  chmodSync(at('app/sub'), 0o1777);
  writeFileSync(at('app/large'), Buffer.alloc(3_000_001, 'large '));
  rmSync(at('app/sub/deep'), { recursive: true });
  renameSync(at('etc/conf'), at('etc/moved'));
  mkdirSync(at('wide'));
  for (let i = 0; i < 2000; i++) writeFileSync(at(`wide/${'n'.repeat(i % 200)}${i}`), 'x'.repeat(i));
  const expected = listing(world.root);

  const { image, layer, changed } = await world.pack('next@1');
  assert.deepEqual(await world.shows('next@1'), expected);
  assert.equal(image.layers.length, 2);
  assert.equal(layer?.digest, image.layers[1]!.digest);
  assert.deepEqual([changed.deleted, changed.changed], [2, 1], 'two names are gone, one has another mode');
  execFileSync('fsck.erofs', [join(ground.stateDir, 'layers', `${layer!.digest.slice(7)}.erofs`)], { stdio: 'ignore' });
});

test('the same state gives the same layer, however and whenever it came about', async (t) => {
  const ground = place(t);
  const world = await makeWorld(ground, fillSmall);
  const first = inside(world);
  const other = await overlayOn(ground, world.store, 'base@1');
  // Edited in place, one file deleted, one added.
  writeFileSync(first('app/main.c'), 'int main;\n');
  rmSync(first('app/sub/a'));
  writeFileSync(first('app/added'), 'new');
  // The directory is made anew, its unchanged file with it, in another order.
  const again = inside(other);
  mkdirSync(again('later'));
  writeFileSync(again('later/added'), 'new');
  execFileSync('cp', ['-a', again('app/sub/deep'), again('later/deep')]);
  rmSync(again('app/sub'), { recursive: true });
  mkdirSync(again('app/sub'));
  renameSync(again('later/added'), again('app/added'));
  renameSync(again('later/deep'), again('app/sub/deep'));
  rmSync(again('later'), { recursive: true });
  rmSync(again('app/main.c'));
  writeFileSync(again('app/main.c'), 'int main;\n');
  utimesSync(again('app/main.c'), new Date(), new Date(Date.now() + 5000));
  const one = await world.pack('one@1');
  const two = await other.pack('two@1');
  assert.deepEqual(await world.shows('one@1'), await world.shows('two@1'));
  assert.equal(one.layer!.digest, two.layer!.digest);
});

test('copies that do not differ, directories that were only touched and deletions of nothing make no layer', async (t) => {
  const ground = place(t);
  const world = await makeWorld(ground, fillSmall);
  const at = inside(world);
  closeSync(openSync(at('app/main.c'), 'r+'));
  chmodSync(at('app/sub/a'), 0o600);
  chmodSync(at('app/sub/a'), 0o644);
  writeFileSync(at('app/sub/deep/new'), 'x');
  rmSync(at('app/sub/deep/new'));
  assert.ok(readdirSync(world.upper).length > 0, 'the overlay has copied something');
  const { image, layer, changed } = await world.pack('same@1');
  assert.equal(layer, null);
  assert.deepEqual(changed, { added: 0, changed: 0, deleted: 0, bytes: 0 });
  assert.deepEqual(image.layers, world.store.get('base@1').layers);
  assert.equal(image.parent, 'base@1');
});

test('later times are those of the image, earlier ones stay; a changed file never has the time it had', async (t) => {
  const ground = place(t);
  const world = await makeWorld(ground, fillSmall);
  const at = inside(world);
  writeFileSync(at('app/now'), 'x');
  writeFileSync(at('app/early'), 'x');
  utimesSync(at('app/early'), OLD, new Date('2019-01-01T00:00:00Z'));
  await world.pack('one@1');
  const next = await overlayOn(ground, world.store, 'one@1');
  writeFileSync(join(next.root, 'app/now'), 'y');
  await next.pack('two@1');
  const times = (await world.shows('two@1', { times: true })).filter((line) => /"app\/(now|early)"/.test(line));
  assert.deepEqual(
    times.map((line) => line.split('@')[1]),
    [String(Date.parse('2019-01-01T00:00:00Z') * 1e6), String((Date.parse('2026-01-01T00:00:00Z') + 1000) * 1e6)],
  );
  await world.pack('kept@1', { times: 'kept' });
  const kept = (await world.shows('kept@1', { times: true })).find((line) => line.includes('app/now'));
  assert.equal(kept?.split('@')[1], String(lstatSync(at('app/now'), { bigint: true }).mtimeNs));
});

test('holes cost nothing in a layer and read as zeros', async (t) => {
  const world = await makeWorld(place(t), fillSmall);
  const fd = openSync(join(world.root, 'app/sparse'), 'w');
  ftruncateSync(fd, 300_000_001);
  writeSync(fd, 'in the middle', 150_000_000);
  writeSync(fd, 'end', 299_999_998);
  closeSync(fd);
  const expected = listing(world.root);
  const { layer } = await world.pack('next@1');
  assert.ok(layer!.sizeBytes < 600_000, `${layer!.sizeBytes} bytes`);
  assert.deepEqual(await world.shows('next@1'), expected);
});

test('ten files of random bytes take little more room than their bytes', async (t) => {
  const world = await makeWorld(place(t), fillSmall);
  for (let i = 0; i < 10; i++) writeFileSync(join(world.root, `app/r${i}`), Buffer.alloc(104_858, i));
  const { layer, changed } = await world.pack('next@1');
  assert.ok(layer!.sizeBytes / changed.bytes < 1.05, `${layer!.sizeBytes / changed.bytes}`);
});

test('paths longer than the kernel takes at once are packed; more than a thousand directories are refused', async (t) => {
  const world = await makeWorld(place(t), fillSmall);
  const deep = (depth: number, name: string) =>
    execFileSync('python3', [
      '-c',
      `import os\nos.chdir('${world.root}')\nfor i in range(${depth}): os.mkdir('${name}'); os.chdir('${name}')\nopen('leaf','w').write('x')`,
    ]);
  deep(40, 'd'.repeat(150));
  const { changed } = await world.pack('deep@1');
  assert.equal(changed.added, 41);
  deep(1002, 'e');
  await assert.rejects(world.pack('deeper@1'), fails('invalid_image'));
  execFileSync('rm', ['-rf', join(world.upper, 'e'), join(world.upper, 'd'.repeat(150))]);
});

test('a pack under a name that exists is fine when it is the same, and refused when it is not', async (t) => {
  const world = await makeWorld(place(t), fillSmall);
  writeFileSync(join(world.root, 'app/new'), 'x');
  const first = await world.pack('next@1');
  const again = await world.pack('next@1');
  assert.deepEqual(again.image, first.image);
  await assert.rejects(world.pack('next@1', {}, { labels: { other: 'label' } }), fails('image_exists'));
  writeFileSync(join(world.root, 'app/new'), 'y');
  await assert.rejects(world.pack('next@1'), fails('image_exists'));
  await assert.rejects(
    world.pack('fresh@1', { split: { image: 'next@1', protect: [] } }),
    fails('image_exists'),
    'both images or none',
  );
  assert.ok(!world.store.has('fresh@1'));
});

test('a derived image has the layers of its parent, its own config and its lineage', async (t) => {
  const { store } = await makeWorld(place(t), fillSmall);
  const config = { env: { B: '2' }, labels: {}, cmd: ['sh'] };
  const image = await store.derive({
    name: 'cache/abc@1',
    parent: 'base@1',
    config,
    labels: { by: 'me' },
    kind: 'build',
  });
  const parent = store.get('base@1');
  assert.deepEqual(image.layers, parent.layers);
  assert.deepEqual(image.config, { ...config, labels: { by: 'me' } });
  assert.deepEqual(image.lineage, {
    kind: 'build',
    parent: { name: 'base@1', digest: parent.digest },
    sandbox: null,
    key: null,
  });
  assert.deepEqual(
    store.list().map(({ name }) => name),
    ['base@1'],
    'steps of builds are not listed',
  );
  assert.equal(store.list({ all: true }).length, 2);
});

test('a worker that is killed is replaced, and the pack done again; one that is canceled leaves nothing', async (t) => {
  const ground = place(t);
  const world = await makeWorld(ground, fillSmall);
  writeFileSync(join(world.root, 'app/big'), Buffer.alloc(60_000_000, 1));
  await world.pack('warm@1');
  const packing = world.pack('next@1');
  await killWorker();
  assert.equal((await packing).changed.bytes, 60_000_000);
  const abort = new AbortController();
  const canceled = world.pack('never@1', {}, { signal: abort.signal });
  setTimeout(() => abort.abort(), 5);
  await assert.rejects(canceled);
  assert.ok(!world.store.has('never@1'));
  assert.deepEqual(readdirSync(join(ground.stateDir, 'tmp')), []);
});

/** Our only child that is the packing process. */
async function killWorker(): Promise<void> {
  for (;;) {
    const children = execFileSync('ps', ['-o', 'pid=,args=', '--ppid', String(process.pid)], { encoding: 'utf8' });
    const pid = children
      .split('\n')
      .find((line) => line.includes('packer-main.ts'))
      ?.trim()
      .split(' ')[0];
    if (pid) return void process.kill(Number(pid), 'SIGKILL');
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
}

test('a full disk is said so and leaves nothing', async (t) => {
  const ground = place(t);
  mkdirSync(ground.stateDir);
  mountTmpfs(ground.stateDir, 40 * 1024);
  const world = await makeWorld(ground, fillSmall);
  writeFileSync(join(world.root, 'app/big'), Buffer.alloc(30_000_000, 1));
  await assert.rejects(world.pack('full@1'), fails('node_disk_full'));
  assert.deepEqual(readdirSync(join(ground.stateDir, 'tmp')), []);
  assert.ok(!world.store.has('full@1'));
  rmSync(join(world.root, 'app/big'));
  assert.equal((await world.pack('fits@1')).layer, null);
});
