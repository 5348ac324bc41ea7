/** What the filesystem service does for the client's `files`, beyond one call of each method (methods/): values, owners, paths, errors. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { AuthenticationError, FileNotFoundError, InvalidArgumentError, type Sandbox, SandboxError } from 'e2b';
import { type E2bNode, startE2bNode } from '../../harness/e2b.ts';

let node: E2bNode;
let sandbox: Sandbox;
const HOME = '/home/user';

before(async () => {
  node = await startE2bNode();
  sandbox = await node.create();
});
after(() => node?.close());

const run = async (command: string, user = 'user') => (await sandbox.commands.run(command, { user })).stdout;

test('what is written is told, is there and is read as text, bytes, blob and stream', async () => {
  const content = 'two lines\nand ünïcödé 🐧\n';
  const info = await sandbox.files.write('written.txt', content);
  assert.deepEqual(info, { name: 'written.txt', path: `${HOME}/written.txt`, type: 'file', metadata: undefined });
  assert.equal(await sandbox.files.read('written.txt'), content);
  assert.equal(Buffer.from(await sandbox.files.read('~/written.txt', { format: 'bytes' })).toString(), content);
  assert.equal(await (await sandbox.files.read(`${HOME}/written.txt`, { format: 'blob' })).text(), content);
  const stream = await sandbox.files.read('written.txt', { format: 'stream' });
  assert.equal(await new Response(stream).text(), content);
  assert.equal(await run('cat written.txt'), content);
  assert.equal(await sandbox.files.exists('written.txt'), true);
});

test('any bytes and an empty file come back as they were', async () => {
  const all = Uint8Array.from({ length: 70_000 }, (_, at) => at & 255);
  await sandbox.files.write('bytes.bin', all.buffer as ArrayBuffer);
  assert.deepEqual(await sandbox.files.read('bytes.bin', { format: 'bytes' }), all);
  await sandbox.files.write('empty.txt', '');
  assert.equal(await sandbox.files.read('empty.txt'), '');
  assert.deepEqual(await sandbox.files.read('empty.txt', { format: 'bytes' }), new Uint8Array());
  assert.equal((await sandbox.files.read('empty.txt', { format: 'blob' })).size, 0);
  assert.equal((await sandbox.files.getInfo('empty.txt')).size, 0);
});

test('a file that only looks empty is read whole', async () => {
  assert.match(await sandbox.files.read('/proc/self/status'), /^Name:/);
});

test('many files are written at once, wherever they are to be, and belong to the user', async () => {
  const files = Array.from({ length: 20 }, (_, i) => ({
    path: i % 2 ? `${HOME}/many/${i} ü "quoted" 50%.txt` : `/${i}/file${i}.txt`,
    data: `file ${i}`,
  }));
  const infos = await sandbox.files.write(files);
  assert.deepEqual(
    infos.map(({ path }) => path),
    files.map(({ path }) => path),
  );
  for (const { path, data } of files) assert.equal(await sandbox.files.read(path), data);
  assert.equal(
    (await run('stat -c %U:%G /0 /0/file0.txt many')).trim().replace(/\n/g, ' '),
    'user:user user:user user:user',
  );
  assert.equal((await sandbox.files.write([{ path: 'alone.txt', data: 'x' }])).length, 1);
  assert.deepEqual(await sandbox.files.write([]), []);
});

test('a write replaces the whole file, keeps its mode, and makes it the user’s', async () => {
  await run('echo old, and longer >owned.txt; chmod 750 owned.txt; chown root:root owned.txt', 'root');
  await sandbox.files.write('owned.txt', 'new');
  assert.equal(await sandbox.files.read('owned.txt'), 'new');
  const { owner, group, mode } = await sandbox.files.getInfo('owned.txt');
  assert.deepEqual([owner, group, mode], ['user', 'user', 0o750]);
  await sandbox.files.write('root.txt', 'r', { user: 'root' });
  assert.equal((await sandbox.files.getInfo('/root/root.txt')).owner, 'root');
});

test('all ways of sending a file arrive: octet-stream, gzip, a stream', async () => {
  const text = 'content '.repeat(5000);
  for (const options of [{ useOctetStream: true }, { gzip: true }, {}]) {
    await sandbox.files.write('way.txt', text, options);
    assert.equal(await sandbox.files.read('way.txt'), text);
  }
  await sandbox.files.write('way.txt', new Blob(['from a stream']).stream());
  assert.equal(await sandbox.files.read('way.txt', { gzip: true }), 'from a stream');
  const infos = await sandbox.files.writeFiles(
    [1, 2, 3].map((i) => ({ path: `zip${i}.txt`, data: `${i}` })),
    { gzip: true },
  );
  assert.deepEqual(
    infos.map(({ name }) => name),
    ['zip1.txt', 'zip2.txt', 'zip3.txt'],
  );
});

test('info of a file, a directory and links', async () => {
  await sandbox.files.write('info/file.txt', 'Hello, World!');
  await run('cd info && ln -s file.txt one && ln -s one two && ln -s /nowhere broken && ln -s . here && mkfifo fifo');
  const file = await sandbox.files.getInfo('info/file.txt');
  assert.ok(Math.abs(Date.now() - file.modifiedTime!.getTime()) < 3_600_000);
  assert.deepEqual(
    { ...file, modifiedTime: null },
    {
      name: 'file.txt',
      path: `${HOME}/info/file.txt`,
      type: 'file',
      size: 13,
      mode: 0o644,
      permissions: '-rw-r--r--',
      owner: 'user',
      group: 'user',
      modifiedTime: null,
      symlinkTarget: undefined,
      metadata: undefined,
    },
  );
  const directory = await sandbox.files.getInfo('info');
  assert.deepEqual([directory.type, directory.mode, directory.permissions], ['dir', 0o755, 'drwxr-xr-x']);
  assert.ok(directory.size > 0);
  await sandbox.files.makeDir('info/new');
  assert.ok((await sandbox.files.getInfo('info/new')).size > 0);
  const link = await sandbox.files.getInfo('info/two');
  assert.deepEqual([link.type, link.mode, link.permissions, link.name], ['file', 0o644, 'Lrwxrwxrwx', 'two']);
  assert.equal(link.symlinkTarget, `${HOME}/info/file.txt`);
  const here = await sandbox.files.getInfo('info/here');
  assert.deepEqual([here.type, here.symlinkTarget], ['dir', `${HOME}/info`]);
  assert.deepEqual([(await sandbox.files.getInfo('info/broken')).type], ['symlink']);
  assert.equal((await sandbox.files.getInfo('/tmp')).permissions, 'dtrwxrwxrwx');
  const names = (await sandbox.files.list('info')).map(({ name }) => name);
  assert.deepEqual(
    names,
    ['broken', 'file.txt', 'here', 'new', 'one', 'two'],
    'what is neither file, directory nor link is left out',
  );
});

test('owners that have just been added have their names, others are numbers', async () => {
  await run('useradd -m late && touch /tmp/late && chown late:late /tmp/late', 'root');
  const { owner, group } = await sandbox.files.getInfo('/tmp/late');
  assert.deepEqual([owner, group], ['late', 'late']);
  await sandbox.files.write('mine.txt', 'x', { user: 'late' });
  assert.equal((await sandbox.files.getInfo('/home/late/mine.txt')).owner, 'late');
  await run('touch /tmp/odd && chown 4242:4343 /tmp/odd', 'root');
  const odd = await sandbox.files.getInfo('/tmp/odd');
  assert.deepEqual([odd.owner, odd.group], ['4242', '4343']);
});

test('a list goes as deep as asked, in order of names', async () => {
  for (const path of ['tree/b/c', 'tree/b-1', 'tree/a']) await sandbox.files.makeDir(path);
  await sandbox.files.write('tree/b/file', 'x');
  const paths = async (depth?: number) =>
    (await sandbox.files.list('tree', depth === undefined ? {} : { depth })).map(({ path }) =>
      path.slice(`${HOME}/tree/`.length),
    );
  assert.deepEqual(await paths(), ['a', 'b', 'b-1']);
  assert.deepEqual(await paths(2), ['a', 'b', 'b/c', 'b/file', 'b-1']);
  assert.deepEqual(await paths(99), ['a', 'b', 'b/c', 'b/file', 'b-1']);
  assert.deepEqual(await sandbox.files.list('tree/a'), []);
  await run('ln -s tree/b linked');
  assert.deepEqual(
    (await sandbox.files.list('linked')).map(({ path }) => path),
    [`${HOME}/linked/c`, `${HOME}/linked/file`],
  );
  await assert.rejects(sandbox.files.list('tree', { depth: 0 }), InvalidArgumentError);
});

test('making a directory says whether it was made, with parents, anywhere', async () => {
  assert.equal(await sandbox.files.makeDir('made/deep/er'), true);
  assert.equal(await sandbox.files.makeDir('made/deep/er'), false);
  assert.equal(await sandbox.files.makeDir('made'), false);
  assert.equal(await sandbox.files.makeDir('/top/level'), true);
  assert.equal((await sandbox.files.getInfo('/top')).owner, 'user');
  await sandbox.files.write('made/file', 'x');
  await assert.rejects(sandbox.files.makeDir('made/file'), InvalidArgumentError);
});

test('rename moves, makes parents and replaces', async () => {
  await sandbox.files.write('from.txt', 'moved');
  await sandbox.files.write('there.txt', 'replaced');
  const info = await sandbox.files.rename('from.txt', 'there.txt');
  assert.deepEqual([info.name, info.path, info.type, info.size], ['there.txt', `${HOME}/there.txt`, 'file', 5]);
  assert.equal(await sandbox.files.read('there.txt'), 'moved');
  assert.equal(await sandbox.files.exists('from.txt'), false);
  assert.equal((await sandbox.files.rename('there.txt', 'new/place/it')).path, `${HOME}/new/place/it`);
  await sandbox.files.rename('new', 'renamed');
  assert.equal(await sandbox.files.read('renamed/place/it'), 'moved');
  await assert.rejects(sandbox.files.rename('from.txt', 'x'), FileNotFoundError);
});

test('remove takes files and trees, and what is not there', async () => {
  await sandbox.files.write('doomed/a/b', 'x');
  await run('ln -s /etc doomed/link');
  await sandbox.files.remove('doomed');
  assert.equal(await sandbox.files.exists('doomed'), false);
  assert.equal(await sandbox.files.exists('/etc/passwd'), true);
  await sandbox.files.remove('doomed');
});

test('metadata is kept with a file, told everywhere, and goes with the next write', async () => {
  const metadata = { author: 'me', 'a.b-c_d': 'x=y z' };
  assert.deepEqual((await sandbox.files.write('noted.txt', 'x', { metadata })).metadata, metadata);
  assert.deepEqual((await sandbox.files.getInfo('noted.txt')).metadata, metadata);
  assert.deepEqual((await sandbox.files.rename('noted.txt', 'noted2.txt')).metadata, metadata);
  const octet = await sandbox.files.write('noted/octet.txt', 'x', { metadata, useOctetStream: true });
  assert.deepEqual(octet.metadata, metadata);
  assert.deepEqual((await sandbox.files.list('noted'))[0]?.metadata, metadata);
  const both = await sandbox.files.writeFiles(
    ['m1', 'm2'].map((path) => ({ path, data: path })),
    { metadata },
  );
  assert.deepEqual(
    both.map((info) => info.metadata),
    [metadata, metadata],
  );
  await sandbox.files.write('m1', 'again');
  assert.equal((await sandbox.files.getInfo('m1')).metadata, undefined);
  await run(
    `python3 -c 'import os; os.setxattr("m1", "user.e2b.set", b"inside"); os.setxattr("m1", "user.other", b"x")'`,
  );
  assert.deepEqual((await sandbox.files.getInfo('m1')).metadata, { set: 'inside' });
  await assert.rejects(sandbox.files.write('m1', 'x', { metadata: { big: 'x'.repeat(4100) } }), InvalidArgumentError);
});

test('errors have the classes that clients look for', async () => {
  await sandbox.files.write('plain.txt', 'x');
  for (const call of [
    () => sandbox.files.read('none'),
    () => sandbox.files.getInfo('none'),
    () => sandbox.files.list('none'),
  ])
    await assert.rejects(call, FileNotFoundError);
  for (const call of [
    () => sandbox.files.read('tree'),
    () => sandbox.files.write('tree', 'x'),
    () => sandbox.files.list('plain.txt'),
    () => sandbox.files.read('~other/file'),
    () => sandbox.files.getInfo('a\0b'),
  ])
    await assert.rejects(call, InvalidArgumentError);
  for (const call of [
    () => sandbox.files.read('plain.txt', { user: 'nobody-here' }),
    () => sandbox.files.write('plain.txt', 'x', { user: 'nobody-here' }),
    () => sandbox.files.getInfo('plain.txt', { user: 'nobody-here' }),
  ])
    await assert.rejects(call, AuthenticationError);
  await assert.rejects(sandbox.files.write('plain.txt/below', 'x'), SandboxError);
});
