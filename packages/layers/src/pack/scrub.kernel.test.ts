import '../testing/private-mounts.ts';
import assert from 'node:assert/strict';
import { mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { place } from '../testing/place.ts';
import { fillSmall, makeWorld, type World } from '../testing/world.ts';

function write(world: World, ...files: (string | [name: string, text: string])[]): void {
  for (const file of files) {
    const [name, text] = typeof file === 'string' ? [file, 'x'] : file;
    mkdirSync(dirname(join(world.root, name)), { recursive: true });
    writeFileSync(join(world.root, name), text);
  }
}

/** Names that an image shows, without directories. */
async function files(world: World, image: string): Promise<string[]> {
  return (await world.shows(image)).filter((line) => !/^"[^"]*" d/.test(line)).map((line) => line.split('"')[1]!);
}

const IMAGE = ['app/main.c', 'app/sub/a', 'app/sub/deep/b', 'etc/conf', 'tests/test.sh', 'var/log/dpkg.log'];

test('residue stays out and is reported by rule, with entries, bytes and paths', async (t) => {
  const world = await makeWorld(place(t), fillSmall);
  write(world, 'app/result', 'root/.bash_history', 'root/.cache/pip/wheel', 'var/cache/apt/archives/x.deb');
  write(world, 'app/__pycache__/m.pyc', 'tmp/scratch', 'var/log/new.log', ['home/me/.netrc', 'password secret']);
  write(world, 'logs/verifier/reward.txt', 'solution/solve.sh', 'etc/machine-id', 'app/.main.c.swp');
  const { removed, changed } = await world.pack('next@1');
  assert.deepEqual(await files(world, 'next@1'), [...IMAGE, 'app/result'].sort());
  assert.equal(changed.added, 1 + 7, 'the result, and the directories root, tmp, logs, home/me and var/cache/apt');
  const byRule = Object.fromEntries(removed.map(({ rule, entries, paths }) => [rule, { entries, paths }]));
  assert.deepEqual(byRule.credentials, { entries: 1, paths: ['/home/me/.netrc'] });
  assert.deepEqual(byRule.history, { entries: 1, paths: ['/root/.bash_history'] });
  assert.deepEqual(byRule.caches?.paths, ['/root/.cache', '/root/.cache/pip', '/root/.cache/pip/wheel']);
  assert.deepEqual(byRule.bytecode?.paths, ['/app/__pycache__', '/app/__pycache__/m.pyc']);
  assert.deepEqual(byRule.answers?.paths, [
    '/logs/verifier',
    '/logs/verifier/reward.txt',
    '/solution',
    '/solution/solve.sh',
  ]);
  assert.deepEqual(
    removed.map(({ rule }) => rule),
    ['credentials', 'identity', 'answers', 'history', 'packages', 'caches', 'bytecode', 'logs', 'temporary', 'editor'],
  );
  assert.equal(removed.find(({ rule }) => rule === 'credentials')!.bytes, 15);
  assert.ok(removed.every(({ reason }) => reason.length > 5));
});

test('residue that the image has is as the image has it; what was deleted stays deleted', async (t) => {
  const world = await makeWorld(place(t), (root) => {
    fillSmall(root);
    writeFileSync(join(root, 'var/log/old.log'), 'image');
  });
  write(world, ['var/log/dpkg.log', 'more lines'], ['tests/test.sh', 'exit 0']);
  rmSync(join(world.root, 'var/log/old.log'));
  const { removed, changed } = await world.pack('next@1');
  const shown = await world.shows('next@1');
  assert.ok(shown.some((line) => line.startsWith('"var/log/dpkg.log"') && line.includes('var/log/dpkg.log\\n')));
  assert.ok(shown.some((line) => line.startsWith('"tests/test.sh"') && line.includes('tests/test.sh\\n')));
  assert.ok(!shown.some((line) => line.includes('old.log')));
  assert.deepEqual(changed, { added: 0, changed: 0, deleted: 1, bytes: 0 });
  assert.deepEqual(
    removed.map(({ rule, paths }) => [rule, paths]),
    [
      ['answers', ['/tests/test.sh']],
      ['logs', ['/var/log/dpkg.log']],
    ],
  );
});

test('a directory that was made anew: its residue is as in the image, the rest of it is as it is now', async (t) => {
  const world = await makeWorld(place(t), fillSmall);
  rmSync(join(world.root, 'var/log'), { recursive: true });
  write(world, ['var/log/dpkg.log', 'new'], 'var/log/other');
  await world.pack('next@1');
  const shown = await world.shows('next@1');
  assert.ok(shown.some((line) => line.startsWith('"var/log/dpkg.log"') && line.includes('var/log/dpkg.log\\n')));
  assert.ok(!shown.some((line) => line.includes('other')));
});

test('what is to be kept is kept, in directories that are made for it', async (t) => {
  const world = await makeWorld(place(t), fillSmall);
  write(world, 'tmp/a/keep.txt', 'tmp/a/drop.txt', 'root/.cache/model/weights', 'var/log/app/x.log');
  const { removed } = await world.pack('next@1', { keep: ['/tmp/**/keep.*', '/root/.cache/model', 'x.log'] });
  assert.deepEqual(
    await files(world, 'next@1'),
    [...IMAGE, 'root/.cache/model/weights', 'tmp/a/keep.txt', 'var/log/app/x.log'].sort(),
  );
  assert.deepEqual(removed.find(({ rule }) => rule === 'temporary')!.paths, ['/tmp/a', '/tmp/a/drop.txt']);
});

test('what is excluded is as if the sandbox had not touched it, deletions too', async (t) => {
  const world = await makeWorld(place(t), fillSmall);
  write(world, 'app/keep.txt', 'app/data/huge.bin', 'app/sub/more', ['etc/conf', 'changed']);
  rmSync(join(world.root, 'app/sub/deep'), { recursive: true });
  rmSync(join(world.root, 'app/main.c'));
  const { excluded } = await world.pack('next@1', { exclude: ['*.bin', '/app/sub', '/etc/conf', '/not/there'] });
  assert.deepEqual(
    await files(world, 'next@1'),
    [...IMAGE.filter((name) => name !== 'app/main.c'), 'app/keep.txt'].sort(),
  );
  assert.deepEqual(
    excluded.map(({ rule, paths }) => [rule, paths]),
    [
      ['*.bin', ['/app/data/huge.bin']],
      ['/app/sub', ['/app/sub/deep', '/app/sub/more']],
      ['/etc/conf', ['/etc/conf']],
    ],
  );
});

test('without scrubbing all is kept and nothing is suspected', async (t) => {
  const world = await makeWorld(place(t), fillSmall);
  write(world, 'tmp/x', 'root/.bash_history', 'app/.env');
  const { removed, suspicious } = await world.pack('next@1', { scrub: 'none' });
  assert.deepEqual(await files(world, 'next@1'), [...IMAGE, 'app/.env', 'root/.bash_history', 'tmp/x'].sort());
  assert.deepEqual([removed, suspicious], [[], []]);
});

test('some files are residue for what they hold; what may be a secret is named and stays', async (t) => {
  const world = await makeWorld(place(t), fillSmall);
  write(world, ['app/.npmrc', '//registry/:_authToken=abc'], ['app/web/.npmrc', 'save-exact=true']);
  write(
    world,
    ['root/.docker/config.json', '{"auths": {}}'],
    ['app/core', '\x7fELF…'],
    ['app/core.py', 'x'],
    'app/.env',
  );
  write(world, ['app/.git/config', 'url = https://me:token@host/x'], ['etc/machine-id.bak', 'x']);
  symlinkSync('/etc/shadow', join(world.root, 'app/web/.pypirc'));
  const server = createServer().listen(join(world.root, 'app/socket'));
  await new Promise((resolve) => server.once('listening', resolve));
  const { removed, suspicious } = await world.pack('next@1');
  server.close();
  assert.deepEqual(
    removed.map(({ rule, paths }) => [rule, paths]),
    [
      ['credentials', ['/app/.npmrc', '/root/.docker/config.json']],
      ['sockets', ['/app/socket']],
      ['core', ['/app/core']],
    ],
  );
  assert.deepEqual(suspicious.flatMap(({ paths }) => paths).sort(), ['/app/.env', '/app/.git/config']);
  assert.ok((await files(world, 'next@1')).includes('app/web/.pypirc'));
});
