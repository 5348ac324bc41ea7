import assert from 'node:assert/strict';
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  existsSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, test } from 'node:test';
import { sweepStaging } from './removal.ts';
import { VolumeTree } from './volume-tree.ts';

let base: string;
let root: string;
let staging: string;
let tree: VolumeTree;
beforeEach(() => {
  base = mkdtempSync(join(tmpdir(), 'viv-tree-'));
  [root, staging] = [join(base, 'data'), join(base, 'staging')];
  mkdirSync(root);
  mkdirSync(staging);
  writeFileSync(join(base, 'outside'), 'outside');
  tree = new VolumeTree({ root, staging });
});
afterEach(() => rmSync(base, { recursive: true, force: true }));

const path = (text: string) => Buffer.from(text);
const text = async (name: string) => {
  const parts: Buffer[] = [];
  for await (const part of (await tree.read(path(name))).stream) parts.push(part as Buffer);
  return Buffer.concat(parts).toString();
};
const names = async (at: string, options = {}) => {
  const found: string[] = [];
  for await (const { name } of tree.list(path(at), options)) found.push(name.toString());
  return found;
};
const code =
  (...wanted: string[]) =>
  (error: { code: string }) => {
    assert.ok(wanted.includes(error.code), `${error.code}: ${error}`);
    return true;
  };

test('no link is followed, neither the last name of a path nor one on the way', async () => {
  symlinkSync('../outside', join(root, 'out'));
  symlinkSync('..', join(root, 'up'));
  symlinkSync('/', join(root, 'slash'));
  symlinkSync('/proc/self/root', join(root, 'magic'));
  for (const name of ['out', 'up', 'slash', 'magic']) {
    await assert.rejects(tree.read(path(name)), code('not_regular_file'), name);
    await assert.rejects(names(name), code('not_directory'), name);
    assert.equal((await tree.stat(path(name))).type, 'symlink');
  }
  for (const name of ['up/outside', 'slash/etc/passwd', 'magic/etc/passwd']) {
    await assert.rejects(tree.read(path(name)), code('not_directory'), name);
    await assert.rejects(tree.stat(path(name)), code('not_directory'), name);
    await assert.rejects(tree.write(path(name), []), code('not_directory'), name);
    await assert.rejects(tree.write(path(name), [], { parents: true }), code('not_directory'), name);
    await assert.rejects(tree.mkdir(path(name), { parents: true }), code('not_directory'), name);
    await assert.rejects(tree.remove(path(name), { recursive: true }), code('not_directory'), name);
    await assert.rejects(tree.setAttributes(path(name), { mode: 0o777 }), code('not_directory'), name);
    await assert.rejects(tree.symlink(path(name), path('x')), code('not_directory'), name);
    await assert.rejects(tree.link(path('linked'), path(name)), code('not_directory'), name);
  }
  assert.equal(readFileSync(join(base, 'outside'), 'utf8'), 'outside');
});

test('writing to, changing and removing a link is about the link itself', async () => {
  const before = statSync(join(base, 'outside'));
  symlinkSync('../outside', join(root, 'link'));
  await tree.setAttributes(path('link'), { uid: 5, gid: 6 });
  assert.deepEqual([(await tree.stat(path('link'))).uid, statSync(join(base, 'outside')).uid], [5, before.uid]);
  await assert.rejects(tree.setAttributes(path('link'), { mode: 0o777 }), code('not_regular_file'));
  await tree.utimes(path('link'), 1_000_000_000n);
  assert.equal(statSync(join(base, 'outside')).mtimeMs, before.mtimeMs);
  await tree.write(path('link'), [Buffer.from('new')]);
  assert.equal(await text('link'), 'new');
  symlinkSync('..', join(root, 'up'));
  await tree.remove(path('up'), { recursive: true });
  assert.ok(!existsSync(join(root, 'up')) && existsSync(join(base, 'outside')));
});

test('two dots lead no higher than the root', async () => {
  await tree.write(path('../../x/../a'), [Buffer.from('a')]);
  assert.deepEqual(readdirSync(root), ['a']);
  assert.equal(await text('/../../../a'), 'a');
  for (const name of ['', '/', '.', '..', '/./..']) assert.equal((await tree.stat(path(name))).type, 'dir');
  for (const name of ['/', '..']) {
    await assert.rejects(tree.remove(path(name), { recursive: true }), code('invalid_argument'));
    await assert.rejects(tree.setAttributes(path(name), { mode: 0 }), code('invalid_argument'));
    await assert.rejects(tree.write(path(name), []), code('is_directory'));
  }
  await assert.rejects(tree.stat(path('a\0b')), code('invalid_argument'));
  await assert.rejects(tree.stat(path('x'.repeat(256))), code('invalid_argument'));
  await assert.rejects(tree.stat(path('/x'.repeat(3000))), code('invalid_argument'));
});

test('a FIFO, a socket and a file under a lease keep nobody waiting', async () => {
  execFileSync('mkfifo', [join(root, 'fifo')]);
  await assert.rejects(tree.read(path('fifo')), code('not_regular_file'));
  assert.equal((await tree.stat(path('fifo'))).type, 'fifo');
  await tree.write(path('fifo'), [Buffer.from('replaced')]);
  assert.equal(await text('fifo'), 'replaced');

  writeFileSync(join(root, 'leased'), 'x');
  const hold = `import fcntl,os,signal,sys\nsignal.signal(signal.SIGIO,signal.SIG_IGN)
fd=os.open(sys.argv[1],os.O_RDWR)\nfcntl.fcntl(fd,fcntl.F_SETLEASE,fcntl.F_WRLCK)\nprint("held",flush=True)\nsys.stdin.read()`;
  const holder = spawn('python3', ['-c', hold, join(root, 'leased')], { stdio: ['pipe', 'pipe', 'ignore'] });
  try {
    await once(holder.stdout, 'data');
    await assert.rejects(tree.read(path('leased')), code('file_error'));
    assert.equal((await tree.stat(path('leased'))).size, 1);
    await tree.write(path('leased'), [Buffer.from('anyway')]);
    assert.equal(await text('leased'), 'anyway');
  } finally {
    await ended(holder);
  }
});

test('names that are not UTF-8 are names like others', async () => {
  const odd = Buffer.from([0x2f, 0x66, 0xff, 0xfe]);
  await tree.write(odd, [Buffer.from('odd')]);
  const entries = [];
  for await (const entry of tree.list(path('/'))) entries.push(entry);
  assert.deepEqual(entries[0]!.name, odd.subarray(1));
  const { stream } = await tree.read(odd);
  for await (const part of stream) assert.equal(`${part}`, 'odd');
});

test('a tree far deeper than any path is removed, whatever lies in it', async () => {
  const dig =
    'import os,sys\nos.chdir(sys.argv[1])\nfor i in range(1000):\n os.mkdir("d"*50)\n os.chdir("d"*50)\n if i%200==0: open("f","w"); os.symlink("/","l"); os.mkfifo("p")';
  mkdirSync(join(root, 'deep'));
  execFileSync('python3', ['-c', dig, join(root, 'deep')]);
  await assert.rejects(names('/', { depth: 0 }), code('file_error'), 'a walk ends at some depth');
  const { rest } = await tree.remove(path('deep'), { recursive: true });
  assert.deepEqual(await names('/'), []);
  await rest;
  assert.deepEqual(readdirSync(staging), []);
});

test('what a process left on its way in or out is swept', async () => {
  mkdirSync(join(staging, 'trash-1/a/b/c'), { recursive: true });
  writeFileSync(join(staging, 'trash-1/a/file'), 'x');
  writeFileSync(join(staging, 'upload-1'), 'x');
  await sweepStaging(staging);
  assert.deepEqual(readdirSync(staging), []);
});

test('a body that breaks off leaves the old file and nothing else', async () => {
  await tree.write(path('file'), [Buffer.from('old')]);
  const body = (async function* () {
    yield Buffer.from('ne');
    throw new Error('the client is gone');
  })();
  await assert.rejects(tree.write(path('file'), body), /the client is gone/);
  assert.equal(await text('file'), 'old');
  assert.deepEqual(readdirSync(staging), []);
});

test('exclusive writes replace nothing, also what comes while the body is read', async () => {
  const body = (async function* () {
    yield Buffer.from('late');
    writeFileSync(join(root, 'file'), 'first');
  })();
  await assert.rejects(tree.write(path('file'), body, { exclusive: true }), code('path_exists'));
  await assert.rejects(tree.write(path('file'), [], { exclusive: true }), code('path_exists'));
  assert.equal(await text('file'), 'first');
  await tree.write(path('other'), [Buffer.from('x')], { exclusive: true });
  assert.deepEqual([statSync(join(root, 'other')).nlink, readdirSync(staging)], [1, []]);
});

test('a walk gives parents before children, goes as deep as asked, and sorts what is small', async () => {
  mkdirSync(join(root, 'a/b/c'), { recursive: true });
  for (const name of ['z', 'a/y', 'a/b/x']) writeFileSync(join(root, name), '');
  assert.deepEqual(await names('/'), ['a', 'z']);
  assert.deepEqual(await names('a', { depth: 2 }), ['b', 'y', 'b/c', 'b/x']);
  assert.deepEqual(await names('a/b', { depth: 0, self: true }), ['.', 'c', 'x']);
  await assert.rejects(names('z'), code('not_directory'));
  await assert.rejects(names('nothing'), code('path_not_found'));
});

test('a directory of many thousands of files is listed without being in memory', async () => {
  mkdirSync(join(root, 'many'));
  for (let i = 0; i < 25_000; i++) linkOr(join(root, 'many', `${i}`));
  let count = 0;
  for await (const _ of tree.list(path('many'))) count++;
  assert.equal(count, 25_000);
});

/** Many names of few files: quicker to make. */
let target = '';
function linkOr(name: string): void {
  try {
    if (target === '' || !existsSync(target)) throw new Error('none');
    linkSync(target, name);
  } catch {
    writeFileSync(name, '');
    target = name;
  }
}

test('while names are swapped with links nothing outside is read, written or removed', async () => {
  mkdirSync(join(base, 'prey'));
  writeFileSync(join(base, 'prey/file'), 'outside');
  mkdirSync(join(root, 'real'));
  writeFileSync(join(root, 'real/file'), 'inside');
  const swap = `import os,sys\nos.chdir(sys.argv[1])\nos.symlink("../prey","link")
while True:\n os.rename("real","spare"); os.rename("link","real")\n os.rename("real","link"); os.rename("spare","real")`;
  const swapper = spawn('python3', ['-c', swap, root], { stdio: 'ignore' });
  const before = statSync(join(base, 'prey/file'));
  try {
    const seen = new Set<string>();
    const attempt = (work: Promise<unknown>) => work.then(String, (error) => error.code).then((r) => seen.add(r));
    for (let i = 0; i < 400; i++) {
      await attempt(text('real/file'));
      await attempt(tree.setAttributes(path('real/file'), { mode: 0o600 + (i % 8), uid: 1000 + (i % 8) }));
      await attempt(tree.write(path('real/new'), [Buffer.from('x')]));
      await attempt(tree.remove(path('real/new')));
      await attempt(tree.mkdir(path('real/dir')));
      await attempt(tree.remove(path('real/dir'), { recursive: true }));
    }
    assert.equal(swapper.exitCode, null, 'it swaps all the time');
    assert.ok(!seen.has('outside') && seen.has('inside') && seen.has('not_directory'), [...seen].join());
  } finally {
    await ended(swapper);
  }
  const after = statSync(join(base, 'prey/file'));
  assert.deepEqual([after.mode, after.uid, after.ctimeMs], [before.mode, before.uid, before.ctimeMs]);
  assert.deepEqual(readdirSync(join(base, 'prey')), ['file']);
});

async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode === null && child.kill('SIGKILL')) await once(child, 'exit');
}
