import './testing/private-mounts.ts';
import assert from 'node:assert/strict';
import {
  closeSync,
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { VivError } from '@vivarium/protocol';
import type { ImageStore } from './store.ts';
import { archiveOf, chunked, tarOf } from './testing/archives.ts';
import { mountTmpfs } from './testing/mount.ts';
import { finish, never, type Place, place } from './testing/place.ts';

const code = (expected: string, message?: RegExp) => (error: unknown) => {
  assert.ok(error instanceof VivError, String(error));
  assert.equal(error.code, expected, error.message);
  if (message) assert.match(error.message, message);
  return true;
};

function importTree(store: ImageStore, name: string, directory: string) {
  return finish(store.importTar({ name, config: {} }, chunked(tarOf(directory)), never()));
}

function sampleTree(at: Place, name = 'tree'): string {
  const tree = at.make(name);
  writeFileSync(join(tree, 'hello'), 'hello world\n');
  writeFileSync(join(tree, 'large'), Buffer.alloc(100_000, 'x'));
  symlinkSync('/etc/passwd', join(tree, 'link'));
  linkSync(join(tree, 'large'), join(tree, 'same'));
  return tree;
}

const layerFile = (at: Place, digest: string) => join(at.stateDir, 'layers', `${digest.slice(7)}.erofs`);

function flipByte(path: string, offset: number): void {
  const byte = readFileSync(path)[offset]!;
  const descriptor = openSync(path, 'r+');
  writeSync(descriptor, Buffer.from([byte ^ 0xff]), 0, 1, offset);
  closeSync(descriptor);
}

test('an imported tree can be mounted and has the right contents', async (t) => {
  const at = place(t);
  const store = await at.open();
  const { image } = await importTree(store, 'my/image@1', sampleTree(at));
  assert.equal(image.name, 'my/image@1');
  assert.deepEqual(store.list(), [image]);
  const { layers, release } = await store.acquire('my/image@1');
  const root = layers[0]!.path;
  assert.equal(readFileSync(join(root, 'hello'), 'utf8'), 'hello world\n');
  assert.equal(readFileSync(join(root, 'same')).length, 100_000);
  assert.equal(statSync(join(root, 'same')).ino, statSync(join(root, 'large')).ino);
  assert.ok(lstatSync(join(root, 'link')).isSymbolicLink());
  assert.throws(() => writeFileSync(join(root, 'new'), ''), /EROFS/);
  release();
  await store.close();
  assert.deepEqual(readdirSync(join(at.runDir, 'layers')), []);
});

test('the same tree gives the same layer, whatever the order its archive has', async (t) => {
  const at = place(t);
  const store = await at.open();
  const entries = ['c', 'a', 'b/x', 'b/y'].map((name) => ({ name, body: `I am ${name}`, uid: 7 }));
  const make = async (name: string, list: typeof entries) =>
    (await finish(store.importTar({ name, config: {} }, chunked(await archiveOf(list)), never()))).image.layers[0]!
      .digest;
  const first = await make('one@1', entries);
  await new Promise((resolve) => setTimeout(resolve, 1100));
  assert.equal(await make('two@1', entries.toReversed()), first);
  assert.notEqual(await make('three@1', [...entries, { name: 'd', body: '', uid: 0 }]), first);
  assert.equal(readdirSync(join(at.stateDir, 'layers')).filter((name) => name.endsWith('.erofs')).length, 2);
});

test('many acquire one image at once and share one mount', async (t) => {
  const at = place(t);
  const store = await at.open();
  await importTree(store, 'a@1', sampleTree(at));
  const held = await Promise.all(Array.from({ length: 50 }, () => store.acquire('a@1')));
  assert.equal(at.mounter.mounts, 1);
  assert.equal(new Set(held.map(({ layers }) => layers[0]!.path)).size, 1);
  for (const { release } of held) release();
});

test('an image in use is not removed; afterwards it goes with its layer, its mount and its name', async (t) => {
  const at = place(t);
  const used = new Set<string>();
  const store = await at.open({ inUse: (digest) => used.has(digest) });
  const { image } = await importTree(store, 'a@1', sampleTree(at));
  const digest = image.layers[0]!.digest;
  const { release } = await store.acquire('a@1');
  await assert.rejects(store.remove('a@1'), code('image_in_use'));
  release();
  release();
  used.add(digest);
  await assert.rejects(store.remove('a@1'), code('image_in_use'));
  used.clear();
  const again = store.reacquire([digest]);
  await assert.rejects(store.remove('a@1'), code('image_in_use'));
  again.release();
  await store.remove('a@1');
  assert.equal(existsSync(layerFile(at, digest)), false);
  assert.equal(at.mounter.umounts, 1);
  assert.throws(() => store.get('a@1'), code('image_not_found', /there is no image yet/));
  await assert.rejects(store.remove('a@1'), code('image_not_found'));
});

test('a layer that two images share stays until both are gone', async (t) => {
  const at = place(t);
  const store = await at.open();
  const { image } = await importTree(store, 'a@1', sampleTree(at));
  await importTree(store, 'b@1', join(at.directory, 'tree'));
  const file = layerFile(at, image.layers[0]!.digest);
  await store.remove('a@1');
  assert.equal(existsSync(file), true);
  await store.remove('b@1');
  assert.equal(existsSync(file), false);
});

test('a flipped byte in a layer file is refused and the layer named, also when it is mounted already and after a restart', async (t) => {
  const at = place(t);
  const store = await at.open();
  const { image } = await importTree(store, 'a@1', sampleTree(at));
  const digest = image.layers[0]!.digest;
  (await store.acquire('a@1')).release();
  const file = layerFile(at, digest);
  flipByte(file, statSync(file).size - 100);
  await assert.rejects(store.acquire('a@1'), code('image_corrupt', new RegExp(digest)));
  await assert.rejects(store.verify(digest), code('image_corrupt'));
  await store.close();
  const restarted = await at.open();
  await assert.rejects(restarted.acquire('a@1'), code('image_corrupt', new RegExp(digest)));
  flipByte(file, statSync(file).size - 100);
  (await restarted.acquire('a@1')).release();
});

test('an image whose layer is damaged or gone can be imported again', async (t) => {
  const at = place(t);
  const store = await at.open();
  const tree = sampleTree(at);
  const { image } = await importTree(store, 'a@1', tree);
  await assert.rejects(importTree(store, 'a@1', tree), code('image_exists'));
  const file = layerFile(at, image.layers[0]!.digest);
  truncateSync(file, 4096);
  await importTree(store, 'a@1', tree);
  rmSync(file);
  await assert.rejects(store.acquire('a@1'), code('image_corrupt', /missing/));
  await importTree(store, 'a@1', tree);
  (await store.acquire('a@1')).release();
});

/** What is written down of checked layers; it takes a moment to be there. */
async function verifiedStamps(at: Place): Promise<string> {
  const file = join(at.stateDir, 'layers', 'verified.json');
  while (!existsSync(file)) await new Promise((resolve) => setTimeout(resolve, 10));
  return readFileSync(file, 'utf8');
}

test('a restart finds the mounts that are there and reads no layer again', async (t) => {
  const at = place(t);
  const first = await at.open();
  await importTree(first, 'a@1', sampleTree(at));
  await first.acquire('a@1');
  const second = await at.open({ inUse: () => true });
  const stamps = await verifiedStamps(at);
  const { layers } = await second.acquire('a@1');
  assert.equal(readFileSync(join(layers[0]!.path, 'hello'), 'utf8'), 'hello world\n');
  assert.equal(at.mounter.mounts, 1);
  assert.equal(await verifiedStamps(at), stamps);
  await second.close();
  assert.equal(at.mounter.umounts, 0, 'what a sandbox uses stays mounted');
});

test('a manifest that was tampered with, or signed by another node, is refused by name', async (t) => {
  const at = place(t);
  const store = await at.open();
  const { image } = await importTree(store, 'a@1', sampleTree(at));
  await finish(
    store.importTar({ name: 'b@1', config: {} }, chunked(await archiveOf([{ name: 'f', body: 'b' }])), never()),
  );
  const path = join(at.stateDir, 'images', `${encodeURIComponent('a@1')}.json`);
  const good = readFileSync(path, 'utf8');
  const other = store.get('b@1').layers[0]!.digest;
  writeFileSync(path, good.replaceAll(image.layers[0]!.digest, other));
  const tampered = await at.open();
  assert.throws(() => tampered.get('a@1'), code('image_corrupt', /does not match its digest/));
  await assert.rejects(tampered.acquire('a@1'), code('image_corrupt', /a@1/));
  assert.equal(tampered.has('b@1'), true);
  assert.equal(existsSync(layerFile(at, image.layers[0]!.digest)), true, 'layers of an unreadable manifest are kept');

  writeFileSync(path, good);
  rmSync(join(at.stateDir, 'keys'), { recursive: true });
  const stranger = await at.open();
  assert.throws(() => stranger.get('a@1'), code('image_corrupt', /not this node's/));
  assert.deepEqual(stranger.list(), []);
  assert.equal(statSync(join(at.stateDir, 'keys', 'images.pem')).mode & 0o777, 0o600);
  await stranger.remove('a@1');
  assert.throws(() => stranger.get('a@1'), code('image_not_found'));
});

test('leftovers of a crash are swept when the store opens', async (t) => {
  const at = place(t);
  const store = await at.open();
  const { image } = await importTree(store, 'a@1', sampleTree(at));
  const orphan = join(at.stateDir, 'layers', `${'0'.repeat(64)}.erofs`);
  writeFileSync(orphan, 'x');
  mkdirSync(join(at.stateDir, 'tmp', 'build-x', 'deep'), { recursive: true });
  writeFileSync(join(at.stateDir, 'images', 'b%401.json.new'), '{');
  const reopened = await at.open();
  assert.equal(existsSync(orphan), false);
  assert.deepEqual(readdirSync(join(at.stateDir, 'tmp')), []);
  assert.deepEqual(readdirSync(join(at.stateDir, 'images')), ['a%401.json']);
  assert.deepEqual(reopened.list(), [image]);
});

test('of two imports of one name the second waits and is told that the image exists', async (t) => {
  const at = place(t);
  const store = await at.open();
  const tree = sampleTree(at);
  const results = await Promise.allSettled([importTree(store, 'a@1', tree), importTree(store, 'a@1', tree)]);
  assert.deepEqual(
    results.map(({ status }) => status),
    ['fulfilled', 'rejected'],
  );
  code('image_exists')((results[1] as PromiseRejectedResult).reason);
});

test('the second import of a name goes on when the first fails', async (t) => {
  const at = place(t);
  const store = await at.open();
  const bad = finish(store.importTar({ name: 'a@1', config: {} }, chunked(Buffer.from('no tar at all')), never()));
  const good = importTree(store, 'a@1', sampleTree(at));
  await assert.rejects(bad, code('invalid_image'));
  assert.equal((await good).image.name, 'a@1');
});

test('a truncated archive is refused wherever it is cut, and nothing is kept', async (t) => {
  const at = place(t);
  const store = await at.open();
  const whole = await archiveOf([
    { name: 'a', body: Buffer.alloc(2000, 'a') },
    { name: 'b', body: 'b' },
  ]);
  for (const length of [0, 300, 512, 1000, 2560, 3072, 3584]) {
    const cut = finish(store.importTar({ name: 'a@1', config: {} }, chunked(whole.subarray(0, length)), never()));
    await assert.rejects(cut, code('invalid_image'), `cut at ${length}`);
  }
  assert.deepEqual(store.list(), []);
  assert.deepEqual(readdirSync(join(at.stateDir, 'tmp')), []);
  assert.deepEqual(readdirSync(join(at.stateDir, 'layers')), []);
});

test('a client that goes away in mid-import leaves nothing', async (t) => {
  const at = place(t);
  const store = await at.open();
  async function* breaking() {
    yield (await archiveOf([{ name: 'a', body: 'a' }])).subarray(0, 512);
    throw new Error('socket hang up');
  }
  const broken = finish(store.importTar({ name: 'a@1', config: {} }, breaking(), never()));
  await assert.rejects(broken, code('invalid_image', /broke off: socket hang up/));

  const left = new AbortController();
  async function* endless() {
    for (;;) {
      yield Buffer.alloc(512, 0);
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  }
  setTimeout(() => left.abort(), 100);
  await assert.rejects(
    finish(store.importTar({ name: 'a@1', config: {} }, endless(), left.signal)),
    code('import_failed', /canceled/),
  );
  assert.deepEqual(readdirSync(join(at.stateDir, 'tmp')), []);
});

test('a full disk is named, nothing is kept, and the images that are there still work', async (t) => {
  const at = place(t);
  mkdirSync(at.stateDir);
  mountTmpfs(at.stateDir, 40 * 1024);
  const store = await at.open();
  await importTree(store, 'a@1', sampleTree(at));
  for (const size of [5_000_000, 20_000_000, 60_000_000]) {
    const large = await archiveOf([{ name: 'large', body: Buffer.alloc(size, 'x') }]);
    const full = finish(store.importTar({ name: 'b@1', config: {} }, chunked(large), never()));
    if (size > 5_000_000) await assert.rejects(full, code('node_disk_full'));
    else await full.then(() => store.remove('b@1'));
  }
  assert.deepEqual(readdirSync(join(at.stateDir, 'tmp')), []);
  assert.equal(store.list().length, 1);
  (await store.acquire('a@1')).release();
});

test('a sparse giant takes no room in a layer; one larger than any disk is refused', async (t) => {
  const at = place(t);
  const store = await at.open();
  const upper = at.make('upper');
  await importTree(store, 'a@1', sampleTree(at));
  writeFileSync(join(upper, 'giant'), '');
  truncateSync(join(upper, 'giant'), 1024 ** 4);
  const commit = () => store.commit({ name: 'b@1', parent: 'a@1', upperDir: upper, idShift: 0, createdBy: 'test' });
  assert.ok((await commit()).layer!.sizeBytes < 2_000_000);
  truncateSync(join(upper, 'giant'), 5 * 1024 ** 4);
  await assert.rejects(commit(), code('invalid_image', /does not fit/));
});

test('a path longer than the kernel takes is refused, and its tree is removed all the same', async (t) => {
  const at = place(t);
  const store = await at.open();
  const name = `${'d'.repeat(99)}/`.repeat(40);
  const archive = await archiveOf([{ name: `${name}${'e'.repeat(90)}`, body: 'deep' }]);
  const deep = finish(store.importTar({ name: 'a@1', config: {} }, chunked(archive), never()));
  await assert.rejects(deep, code('invalid_image', /longer than 4096 bytes/));
  assert.deepEqual(readdirSync(join(at.stateDir, 'tmp')), []);
});

test('a bad name or config is refused before anything is unpacked', async (t) => {
  const at = place(t);
  const store = await at.open();
  const body = chunked(Buffer.from('never read'));
  await assert.rejects(finish(store.importTar({ name: '../x', config: {} }, body, never())), code('invalid_argument'));
  const config = { cwd: 'relative' };
  await assert.rejects(
    finish(store.importTar({ name: 'a@1', config }, body, never())),
    code('invalid_argument', /config/),
  );
});
