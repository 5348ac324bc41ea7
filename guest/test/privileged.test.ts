import assert from 'node:assert/strict';
import { chmodSync, mkdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { constants } from 'node:os';
import { after, before, beforeEach, test } from 'node:test';
import { FLAG, list, OP, operate, read, refusal, stat, TAG, write } from './files.ts';
import { Guest, type Link } from './guest.ts';
import type { TlvItem } from './wire.ts';

const { EACCES, EINVAL } = constants.errno;
const NOBODY = 65_534;
const nobody: TlvItem = [TAG.user, 'nobody'];
const flags = (...all: number[]): TlvItem => [TAG.flags, all.reduce((sum, flag) => sum | flag, FLAG.privileged)];

let guest: Guest;
let link: Link;
let dir: string;
let turn = 0;

before(async () => {
  guest = new Guest();
  link = await guest.open();
});
after(() => guest.close());
beforeEach(() => {
  dir = `${guest.dir}/${turn++}`;
  mkdirSync(dir);
  chmodSync(guest.dir, 0o755);
});

test('a privileged operation has the rights of root, and what it makes is the user’s', async () => {
  const owner = (path: string) => [statSync(path).uid, statSync(path).gid];
  const path = `${dir}/one/two/file`;
  assert.equal(await refusal(link, OP.write, path, [nobody, [TAG.flags, FLAG.parents]]), EACCES);
  const entry = await write(link, path, Buffer.from('mine'), [nobody, flags(FLAG.parents, FLAG.atomic)]);
  assert.equal(entry.uid, NOBODY);
  for (const made of [path, `${dir}/one`, `${dir}/one/two`]) assert.deepEqual(owner(made), [NOBODY, NOBODY], made);
  await operate(link, OP.mkdir, `${dir}/sub`, [nobody, flags(FLAG.exclusive)]);
  assert.deepEqual(owner(`${dir}/sub`), [NOBODY, NOBODY]);
  assert.deepEqual(owner(dir), [0, 0]);
});

test('a privileged operation reads, replaces, lists and removes what the user may not', async () => {
  writeFileSync(`${dir}/secret`, 'x', { mode: 0o600 });
  chmodSync(dir, 0o700);
  assert.equal(await refusal(link, OP.read, `${dir}/secret`, [nobody]), EACCES);
  assert.equal(String(await read(link, `${dir}/secret`, [nobody, flags()])), 'x');
  assert.equal((await list(link, dir, [nobody, flags()])).length, 1);
  await write(link, `${dir}/secret`, Buffer.from('y'), [nobody, flags(FLAG.atomic)]);
  assert.deepEqual([readFileSync(`${dir}/secret`, 'utf8'), statSync(`${dir}/secret`).uid], ['y', 0]);
  await write(link, `${dir}/secret`, Buffer.from('z'), [nobody, flags(FLAG.atomic), [TAG.owner, 'nobody']]);
  assert.equal(statSync(`${dir}/secret`).uid, NOBODY);
  await operate(link, OP.remove, `${dir}/secret`, [nobody, flags()]);
});

test('a user that is not there is refused, privileged or not', async () => {
  assert.equal((await stat(link, dir, [flags()])).type, 2);
  for (const flag of [flags(), [TAG.flags, 0] as const])
    assert.ok((await refusal(link, OP.stat, dir, [[TAG.user, 'nonesuch'], flag])) > 0);
});

test('a link is told with where it leads in the end, where asked', async () => {
  mkdirSync(`${dir}/real`);
  writeFileSync(`${dir}/real/file`, '', { mode: 0o640 });
  symlinkSync('real', `${dir}/one`);
  symlinkSync('one/file', `${dir}/two`);
  symlinkSync('nowhere', `${dir}/broken`);
  symlinkSync('round', `${dir}/round`);
  const resolve: TlvItem = [TAG.flags, FLAG.resolve];
  const two = await stat(link, `${dir}/two`, [resolve]);
  assert.deepEqual([two.type, String(two.link), two.targetType, two.targetMode], [3, `${dir}/real/file`, 1, 0o640]);
  const plain = await stat(link, `${dir}/two`);
  assert.deepEqual([plain.type, String(plain.link), plain.targetType, plain.targetMode], [3, 'one/file', 0, 0]);
  const entries = await list(link, dir, [resolve]);
  const found = entries
    .filter(({ type }) => type === 3)
    .map((entry) => [String(entry.name), String(entry.link), entry.targetType] as const)
    .toSorted();
  assert.deepEqual(found, [
    ['broken', 'nowhere', 0],
    ['one', `${dir}/real`, 2],
    ['round', 'round', 0],
    ['two', `${dir}/real/file`, 1],
  ]);
  assert.equal(await refusal(link, OP.stat, 'two', [resolve, [TAG.base, dir]]), EINVAL);
  assert.equal(await refusal(link, OP.read, `${dir}/two`, [resolve]), EINVAL);
});
