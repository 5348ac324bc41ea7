import assert from 'node:assert/strict';
import { mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { FLAG, OP, refusal, request, TAG, write } from './files.ts';
import { Guest, type Link, until } from './guest.ts';
import { T } from './wire.ts';

const KINDS = ['', 'create', 'modify', 'remove', 'from', 'to', 'attributes', 'overflow', 'gone'];

let guest: Guest;
let link: Link;

before(async () => {
  guest = new Guest();
  link = await guest.open();
});
after(() => guest.close());

/** Events as `kind path`, read until one of them is `last`. */
async function events(id: number, last: string): Promise<string[]> {
  const seen: string[] = [];
  let rest = Buffer.alloc(0);
  while (!seen.includes(last)) {
    const frame = await link.takeWhere((f) => f.stream === id && f.type === T.DATA, `${last} after ${seen}`);
    rest = Buffer.concat([rest, frame.payload.subarray(8)]);
    while (rest.length >= 16 && rest.length >= rest.readUInt32LE(0)) {
      const len = rest.readUInt32LE(0);
      const name = rest.subarray(16, 16 + rest.readUInt16LE(14)).toString();
      assert.equal(len, 16 + rest.readUInt16LE(14));
      seen.push(`${KINDS[rest.readUInt32LE(4)]} ${name}`);
      rest = rest.subarray(len);
    }
  }
  return seen;
}

async function watch(path: string, flags = 0): Promise<number> {
  const id = request(link, OP.watch, path, [
    [TAG.flags, flags],
    [TAG.window, 1 << 20],
  ]);
  await link.take(id, T.OK);
  return id;
}

test('changes in a directory are told, those below it are not', async () => {
  const dir = `${guest.dir}/flat`;
  mkdirSync(`${dir}/sub`, { recursive: true });
  const id = await watch(dir);
  writeFileSync(`${dir}/sub/unseen`, 'x');
  writeFileSync(`${dir}/file`, 'x');
  renameSync(`${dir}/file`, `${dir}/moved`);
  rmSync(`${dir}/moved`);
  const seen = await events(id, 'remove moved');
  assert.deepEqual(seen, ['create file', 'modify file', 'from file', 'to moved', 'remove moved']);
  link.send(T.CANCEL, id);
  await until(() => guest.children().size === 0, 'the worker is gone');
});

test('a tree is watched with what appears in it, and links are not followed', async () => {
  const dir = `${guest.dir}/tree`;
  mkdirSync(`${dir}/old`, { recursive: true });
  mkdirSync(`${guest.dir}/elsewhere/deep`, { recursive: true });
  writeFileSync(`${guest.dir}/elsewhere/deep/inside`, '');
  symlinkSync('/usr', `${dir}/link`);
  const id = await watch(dir, FLAG.recursive);
  writeFileSync(`${dir}/old/one`, '');
  await events(id, 'create old/one');
  mkdirSync(`${dir}/new/er`, { recursive: true });
  writeFileSync(`${dir}/new/er/two`, '');
  await events(id, 'create new/er/two');
  writeFileSync(`${dir}/new/er/three`, '');
  await events(id, 'create new/er/three');
  renameSync(`${guest.dir}/elsewhere`, `${dir}/came`);
  await events(id, 'create came/deep/inside');
  renameSync(`${dir}/came`, `${dir}/went`);
  writeFileSync(`${dir}/went/deep/after`, '');
  await events(id, 'create went/deep/after');
  renameSync(`${dir}/went`, `${guest.dir}/out`);
  writeFileSync(`${guest.dir}/out/deep/unseen`, '');
  writeFileSync(`${dir}/last`, '');
  assert.ok(!(await events(id, 'create last')).some((event) => event.includes('unseen')));
  link.send(T.CANCEL, id);
});

test('the end of the watched directory itself is told', async () => {
  const dir = `${guest.dir}/doomed`;
  mkdirSync(dir);
  const id = await watch(dir, FLAG.recursive);
  rmSync(dir, { recursive: true });
  await events(id, 'gone ');
  link.send(T.CANCEL, id);
});

test('only directories are watched', async () => {
  writeFileSync(`${guest.dir}/file`, '');
  assert.equal(await refusal(link, OP.watch, `${guest.dir}/file`), 20);
  assert.equal(await refusal(link, OP.watch, `${guest.dir}/none`), 2);
});

test('an atomic write is told as a file that appears or is modified, and nothing of how it is done', async () => {
  const dir = `${guest.dir}/atomic`;
  mkdirSync(dir);
  const id = await watch(dir);
  const atomic = [[TAG.flags, FLAG.atomic]] as const;
  await write(link, `${dir}/file`, Buffer.from('one'), [...atomic]);
  assert.deepEqual(await events(id, 'modify file'), ['create file', 'modify file']);
  await write(link, `${dir}/file`, Buffer.from('two'), [...atomic]);
  await write(link, `${dir}/empty`, Buffer.alloc(0), [...atomic]);
  renameSync(`${dir}/file`, `${dir}/moved`);
  assert.deepEqual(await events(id, 'to moved'), ['modify file', 'create empty', 'from file', 'to moved']);
  link.send(T.CANCEL, id);
});

test('a program’s own files with names much like ours are told', async () => {
  const dir = `${guest.dir}/alike`;
  mkdirSync(dir);
  const id = await watch(dir);
  for (const name of [
    '.viv-0123.tmp',
    '.viv-0123456789abcdef.tmpx',
    'viv-0123456789abcdef.tmp',
    '.viv-0123456789abcdeg.tmp',
  ])
    mkdirSync(`${dir}/${name}`);
  mkdirSync(`${dir}/.viv-0123456789abcdef.tmp`);
  const seen = await events(id, 'create .viv-0123456789abcdef.tmp');
  assert.equal(seen.length, 5);
  writeFileSync(`${dir}/#12`, 'x');
  assert.deepEqual(await events(id, 'modify #12'), ['create #12', 'modify #12']);
  link.send(T.CANCEL, id);
});
