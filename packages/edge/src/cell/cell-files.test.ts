import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import * as fs from 'node:fs';
import { after, before, test } from 'node:test';
import type { Cell } from './cell.ts';
import type { CellEntry } from './entry.ts';
import { RealGuest } from './fixture/real-guest.ts';

let guest: RealGuest;
let cell: Cell;
let root = '';
before(async () => {
  guest = await RealGuest.start();
  cell = await guest.open();
  root = `${guest.dir}/files`;
  fs.mkdirSync(root, { mode: 0o755 });
  fs.chmodSync(guest.dir, 0o755);
});
after(async () => {
  cell.close();
  await guest.stop();
});

const at = (name: string): Buffer => Buffer.from(`${root}/${name}`);
const put = (name: string, content: string): Promise<CellEntry> => cell.write(at(name), Buffer.from(content));

async function content(name: string | Buffer, options = {}): Promise<string> {
  const { stream } = await cell.read(typeof name === 'string' ? at(name) : name, options);
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
}

async function names(path: Buffer, options = {}): Promise<string[]> {
  const found: string[] = [];
  for await (const entry of cell.list(path, options)) found.push(entry.name.toString());
  return found.sort();
}

test('what is written is read, with what stat says', async () => {
  const written = await cell.write(at('hello'), [Buffer.from('hel'), Buffer.from('lo')], { mode: 0o640 });
  assert.deepEqual([written.type, written.size, written.mode], ['file', 5, 0o640]);
  assert.equal(await content('hello'), 'hello');
  const entry = await cell.stat(at('hello'));
  assert.deepEqual([entry.name.toString(), entry.size, entry.nlink], ['hello', 5, 1]);
  assert.equal(entry.ino, fs.statSync(`${root}/hello`, { bigint: true }).ino);
  assert.equal(entry.mtimeNs, fs.statSync(`${root}/hello`, { bigint: true }).mtimeNs);
});

test('a write gives the file the time it is told, whole or in place', async () => {
  for (const atomic of [true, false]) {
    const written = await cell.write(at('timed'), Buffer.from('x'), { mtimeNs: 1_234_567_890_123_456_789n, atomic });
    assert.equal(written.mtimeNs, 1_234_567_890_123_456_789n);
    assert.equal(fs.statSync(`${root}/timed`, { bigint: true }).mtimeNs, 1_234_567_890_123_456_789n);
  }
});

test('a range is read, and an empty file', async () => {
  await put('range', '0123456789');
  assert.equal(await content('range', { offset: 3, length: 4 }), '3456');
  assert.equal(await content('range', { offset: 8 }), '89');
  assert.equal(await content('range', { offset: 100 }), '');
  await put('empty', '');
  assert.equal(await content('empty'), '');
});

test('append, write in the middle, parents, exclusive, atomic and owner do what they say', async () => {
  await put('log', 'one');
  await cell.write(at('log'), Buffer.from('two'), { append: true });
  await cell.write(at('log'), Buffer.from('X'), { offset: 1 });
  assert.equal(await content('log'), 'oXetwo');
  await cell.write(at('a/b/c'), Buffer.from('deep'), { parents: true, atomic: true, fsync: true, owner: 'nobody' });
  assert.equal((await cell.stat(at('a/b/c'))).uid, 65_534);
  await assert.rejects(cell.write(at('log'), Buffer.from('x'), { exclusive: true }), { code: 'path_exists' });
});

test('a large file goes down and comes up unchanged', async () => {
  const chunk = crypto.getRandomValues(Buffer.alloc(65_536));
  const count = 1024;
  const hash = createHash('sha256');
  async function* body(): AsyncGenerator<Uint8Array> {
    for (let i = 0; i < count; i++) {
      hash.update(chunk);
      yield chunk;
    }
  }
  const entry = await cell.write(at('large'), body());
  assert.equal(entry.size, count * 65_536);
  const back = createHash('sha256');
  const { stream } = await cell.read(at('large'));
  for await (const piece of stream) back.update(piece as Buffer);
  assert.equal(back.digest('hex'), hash.digest('hex'));
});

test('a body that fails leaves the old file, and nothing beside it', async () => {
  await put('keep/me', 'old').catch(() => cell.write(at('keep/me'), Buffer.from('old'), { parents: true }));
  async function* body(): AsyncGenerator<Uint8Array> {
    yield Buffer.alloc(500_000);
    throw new Error('the client went away');
  }
  await assert.rejects(cell.write(at('keep/me'), body(), { atomic: true }), /went away/);
  await cell.ping();
  assert.equal(await content('keep/me'), 'old');
  for (let i = 0; i < 50 && (await names(at('keep'))).length > 1; i++) await cell.ping();
  assert.deepEqual(await names(at('keep')), ['me']);
});

test('a write that the guest refuses ends the body too', async () => {
  let ended = false;
  async function* body(): AsyncGenerator<Uint8Array> {
    try {
      for (;;) {
        yield Buffer.alloc(65_536);
        await new Promise((resolve) => setTimeout(resolve, 1));
      }
    } finally {
      ended = true;
    }
  }
  await assert.rejects(cell.write(at('no/such/dir/file'), body()), { code: 'path_not_found' });
  await new Promise((resolve) => setTimeout(resolve, 20));
  assert.ok(ended);
});

test('reads can be left, aborted, and wait for a slow reader', async () => {
  const left = await cell.read(at('large'));
  for await (const _ of left.stream) break;
  const abort = new AbortController();
  const aborted = await cell.read(at('large'), { signal: abort.signal });
  abort.abort();
  await assert.rejects(
    async () => {
      for await (const _ of aborted.stream);
    },
    { code: 'request_timeout' },
  );
  const before = cell.stats.bytesUp;
  const slow = await cell.read(at('large'));
  await new Promise((resolve) => setTimeout(resolve, 200));
  assert.ok(cell.stats.bytesUp - before < 3 * 1_048_576);
  let size = 0;
  for await (const piece of slow.stream) size += (piece as Buffer).length;
  assert.equal(size, 1024 * 65_536);
  assert.equal(cell.stats.protocolErrors, 0);
});

test('a tree is listed to its depth, parents first', async () => {
  await cell.mkdir(at('tree/one/two'), { parents: true });
  await put('tree/one/file', 'x');
  await cell.symlink(at('tree/link'), Buffer.from('one/file'));
  assert.deepEqual(await names(at('tree')), ['link', 'one']);
  assert.deepEqual(await names(at('tree'), { depth: 2 }), ['link', 'one', 'one/file', 'one/two']);
  const all: CellEntry[] = [];
  for await (const entry of cell.list(at('tree'), { depth: 0, self: true })) all.push(entry);
  const order = all.map((entry) => entry.name.toString());
  assert.equal(order[0], '.');
  assert.ok(order.indexOf('one') < order.indexOf('one/file'));
  assert.equal(all.find((entry) => entry.type === 'symlink')?.target?.toString(), 'one/file');
});

test('ten thousand entries are listed, and a listing can be left', async () => {
  fs.mkdirSync(`${root}/many`);
  for (let i = 0; i < 10_000; i++) fs.writeFileSync(`${root}/many/entry-${i}`, '');
  assert.equal((await names(at('many'))).length, 10_000);
  for await (const _ of cell.list(at('many'))) break;
  assert.equal(cell.stats.protocolErrors, 0);
});

test('names with spaces, newlines, non-ASCII and non-UTF-8 bytes work', async () => {
  const odd = [' a b ', 'line\nbreak', 'ümläut', '-rf', '"$(x)"'].map((name) => Buffer.from(name));
  odd.push(Buffer.from([0xff, 0xfe, 0x80]));
  await cell.mkdir(at('odd'));
  for (const name of odd) await cell.write(Buffer.concat([at('odd/'), name]), name);
  const found: Buffer[] = [];
  for await (const entry of cell.list(at('odd'))) found.push(entry.name);
  assert.deepEqual(found.map((name) => name.toString('hex')).sort(), odd.map((name) => name.toString('hex')).sort());
  for (const name of odd) assert.equal(await content(Buffer.concat([at('odd/'), name])), name.toString());
});

test('mkdir, rename, remove, chmod, chown, links, utimes and truncate do what they say', async () => {
  await assert.rejects(cell.mkdir(at('x/y')), { code: 'path_not_found' });
  assert.equal((await cell.mkdir(at('x'), { mode: 0o700 })).mode, 0o700);
  await assert.rejects(cell.mkdir(at('x'), { exclusive: true }), { code: 'path_exists' });
  await put('x/f', 'content');
  await cell.rename(at('x/f'), at('x/new/g'), { parents: true });
  await put('x/h', 'other');
  await assert.rejects(cell.rename(at('x/h'), at('x/new/g'), { noReplace: true }), { code: 'path_exists' });
  await cell.chmod(at('x'), 0o750, { recursive: true });
  assert.equal((await cell.stat(at('x/new/g'))).mode, 0o750);
  await cell.chown(at('x/new/g'), { uid: 1, gid: 2 });
  await cell.chown(at('x/h'), 'nobody');
  assert.deepEqual([(await cell.stat(at('x/new/g'))).gid, (await cell.stat(at('x/h'))).uid], [2, 65_534]);
  await cell.link(at('x/hard'), at('x/h'));
  assert.equal((await cell.stat(at('x/h'))).nlink, 2);
  await cell.utimes(at('x/h'), 1_234_567_890_123_456_789n);
  assert.equal((await cell.stat(at('x/h'))).mtimeNs, 1_234_567_890_123_456_789n);
  await cell.truncate(at('x/h'), 2);
  assert.equal(await content('x/h'), 'ot');
  await assert.rejects(cell.remove(at('x')), { code: 'directory_not_empty' });
  assert.ok((await cell.remove(at('x'), { recursive: true })).removed >= 5);
  await assert.rejects(cell.remove(at('x')), { code: 'path_not_found' });
  assert.deepEqual(await cell.remove(at('x'), { missingOk: true }), { removed: 0 });
  const space = await cell.statfs(at(''));
  assert.ok(space.blockSize > 0 && space.free <= space.blocks);
});

test('each refusal has its code', async () => {
  await put('file', 'x');
  await cell.symlink(at('loop'), Buffer.from('loop'));
  await assert.rejects(cell.read(at('nowhere')), { code: 'path_not_found' });
  await assert.rejects(cell.read(at('')), { code: 'is_directory' });
  await assert.rejects(cell.stat(at('file/below')), { code: 'not_directory' });
  await assert.rejects(names(at('file')), { code: 'not_directory' });
  await assert.rejects(cell.read(Buffer.from('/dev/null')), { code: 'not_regular_file' });
  await assert.rejects(cell.stat(at('loop'), { follow: true }), { code: 'file_error' });
  await assert.rejects(cell.stat(at('file'), { user: 'nosuchuser' }), { code: 'user_unknown' });
  await assert.rejects(cell.write(Buffer.from('/etc/x'), Buffer.from('x'), { user: 'nobody' }), {
    code: 'path_denied',
  });
  await assert.rejects(cell.stat(Buffer.from('a\0b')), { code: 'invalid_argument' });
  await assert.rejects(cell.stat(Buffer.from('x'.repeat(20_000))), { code: 'invalid_argument' });
});

test('nothing beneath a base leaves it', async () => {
  await cell.mkdir(at('base/inner'), { parents: true });
  await cell.symlink(at('base/out'), Buffer.from('/etc'));
  const base = at('base');
  await cell.write(Buffer.from('inner/ok'), Buffer.from('x'), { base });
  for (const path of ['../file', 'out/passwd', '/etc/passwd']) {
    await assert.rejects(cell.read(Buffer.from(path), { base }), { code: 'path_escapes' }, path);
  }
});

test('a watch tells what happens, beneath new directories too, until it is left', async () => {
  await cell.mkdir(at('watched'));
  const abort = new AbortController();
  const events = await cell.watch(at('watched'), { recursive: true, signal: abort.signal });
  fs.writeFileSync(`${root}/watched/f`, 'x');
  fs.mkdirSync(`${root}/watched/sub`);
  fs.writeFileSync(`${root}/watched/sub/g`, 'x');
  fs.renameSync(`${root}/watched/f`, `${root}/watched/h`);
  const seen = new Set<string>();
  for await (const event of events) {
    seen.add(`${event.kind} ${event.path}`);
    if (seen.has('rename_to h') && seen.has('create sub/g')) break;
  }
  assert.ok(seen.has('create f') && seen.has('create sub'));
  const ends = await cell.watch(at('watched'), { signal: abort.signal });
  setTimeout(() => abort.abort(), 20);
  await assert.rejects(ends.next(), { code: 'request_timeout' });
  await assert.rejects(cell.watch(at('nowhere')), { code: 'path_not_found' });
});

test('fifty operations at once', async () => {
  await Promise.all(
    Array.from({ length: 50 }, async (_, index) => {
      await put(`many-${index}`, String(index));
      assert.equal(await content(`many-${index}`), String(index));
    }),
  );
  assert.equal(cell.stats.protocolErrors, 0);
});
