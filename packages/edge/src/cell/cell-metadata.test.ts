import assert from 'node:assert/strict';
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
  root = `${guest.dir}/noted`;
  fs.mkdirSync(root, { mode: 0o755 });
  fs.chmodSync(guest.dir, 0o755);
});
after(async () => {
  cell.close();
  await guest.stop();
});

const at = (name: string): Buffer => Buffer.from(`${root}/${name}`);

async function listed(path: Buffer, options: object): Promise<CellEntry[]> {
  const entries: CellEntry[] = [];
  for await (const entry of cell.list(path, options)) entries.push(entry);
  return entries;
}

test('metadata goes down with a write and comes back with the entry', async () => {
  const metadata = { author: 'ich ü', empty: '' };
  const written = await cell.write(at('file'), Buffer.from('x'), { atomic: true, metadata });
  assert.deepEqual(written.metadata, metadata);
  assert.deepEqual((await cell.stat(at('file'))).metadata, metadata);
  assert.deepEqual((await cell.rename(at('file'), at('moved'))).metadata, metadata);
  assert.deepEqual((await listed(Buffer.from(root), { metadata: true }))[0]?.metadata, metadata);
  assert.equal((await listed(Buffer.from(root), {}))[0]?.metadata, undefined);
  assert.equal((await cell.write(at('moved'), Buffer.from('y'), { atomic: true })).metadata, undefined);
  await assert.rejects(cell.write(at('file'), Buffer.from('x'), { metadata: { 'a=b': 'c' } }), {
    code: 'invalid_argument',
  });
});

test('a link is told with where it leads only where asked', async () => {
  fs.mkdirSync(`${root}/real`);
  fs.symlinkSync('real', `${root}/link`);
  const link = await cell.stat(at('link'), { resolve: true });
  assert.deepEqual(
    [link.type, `${link.target}`, link.leadsTo],
    ['symlink', `${root}/real`, { type: 'dir', mode: 0o755 }],
  );
  const plain = await cell.stat(at('link'));
  assert.deepEqual([`${plain.target}`, plain.leadsTo], ['real', undefined]);
});

test('a privileged operation is for a user, with the rights of root', async () => {
  fs.mkdirSync(`${root}/closed`, { mode: 0o700 });
  const body = Buffer.from('x');
  await assert.rejects(cell.write(at('closed/f'), body, { user: 'nobody' }), { code: 'path_denied' });
  const how = { user: 'nobody', privileged: true, parents: true, atomic: true };
  assert.equal((await cell.write(at('closed/sub/f'), body, how)).uid, 65_534);
  assert.equal(fs.statSync(`${root}/closed/sub`).uid, 65_534);
  const { stream } = await cell.read(at('closed/sub/f'), how);
  assert.equal(`${Buffer.concat(await stream.toArray())}`, 'x');
  assert.equal((await listed(at('closed'), how)).length, 1);
  const watching = await cell.watch(at('closed'), how);
  await cell.mkdir(at('closed/seen'), how);
  for await (const event of watching) {
    assert.equal(`${event.kind} ${event.path}`, 'create seen');
    break;
  }
  assert.deepEqual(await cell.remove(at('closed'), { ...how, recursive: true }), { removed: 4 });
});
