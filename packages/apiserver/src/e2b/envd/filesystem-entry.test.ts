import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Account } from '@vivarium/edge/edge.ts';
import type { Entry } from '@vivarium/protocol';
import { entryInfo, hasStrangers } from './filesystem-entry.ts';
import { nameOf, resolvePath } from './filesystem-user.ts';

const accounts = {
  users: new Map<string, Account>(),
  userNames: new Map([[1000, 'user']]),
  groupNames: new Map([[100, 'users']]),
};
const entry = (over: Partial<Entry>): Entry => ({
  name: 'x',
  path: '/x',
  type: 'file',
  mode: 0o644,
  uid: 1000,
  gid: 100,
  sizeBytes: 5_000_000_000,
  mtimeMs: 1_700_000_000_123.456,
  nlink: 1,
  ...over,
});
const info = (over: Partial<Entry>, path = '/d/x') => entryInfo(entry(over), path, accounts);

test('an entry has every field, numbers of 64 bits as text', () => {
  assert.deepEqual(info({ metadata: { a: 'b' } }), {
    name: 'x',
    type: 'FILE_TYPE_FILE',
    path: '/d/x',
    size: '5000000000',
    mode: 0o644,
    permissions: '-rw-r--r--',
    owner: 'user',
    group: 'users',
    modifiedTime: '2023-11-14T22:13:20.123Z',
    metadata: { a: 'b' },
  });
});

test('permissions are written with the letters that clients know', () => {
  const cases: [Entry['type'], number, string][] = [
    ['dir', 0o1777, 'dtrwxrwxrwx'],
    ['file', 0o6755, 'ugrwxr-xr-x'],
    ['file', 0, '----------'],
    ['symlink', 0o777, 'Lrwxrwxrwx'],
    ['fifo', 0o600, 'prw-------'],
    ['socket', 0o600, 'Srw-------'],
    ['char', 0o666, 'Dcrw-rw-rw-'],
    ['block', 0o660, 'Drw-rw----'],
  ];
  for (const [type, mode, text] of cases) assert.equal(info({ type, mode }).permissions, text);
});

test('a link is what it leads to, one that leads nowhere a link', () => {
  const link = info({ type: 'symlink', mode: 0o777, target: '/real', leadsTo: { type: 'dir', mode: 0o1750 } });
  assert.deepEqual([link.type, link.mode, link.symlinkTarget], ['FILE_TYPE_DIRECTORY', 0o750, '/real']);
  const broken = info({ type: 'symlink', mode: 0o777, target: 'gone' });
  assert.deepEqual([broken.type, broken.mode, broken.symlinkTarget], ['FILE_TYPE_SYMLINK', 0, 'gone']);
  assert.equal(info({ type: 'fifo' }).type, 'FILE_TYPE_UNSPECIFIED');
});

test('any time, and owners without a name, can be told', () => {
  assert.equal(info({ mtimeMs: Number.MAX_SAFE_INTEGER }).modifiedTime, '9999-12-31T23:59:59.999Z');
  assert.equal(info({ mtimeMs: -1e17 }).modifiedTime, '0001-01-01T00:00:00.000Z');
  const stranger = info({ uid: 7, gid: 8 });
  assert.deepEqual([stranger.owner, stranger.group], ['7', '8']);
  assert.deepEqual([hasStrangers([entry({})], accounts), hasStrangers([entry({ gid: 8 })], accounts)], [false, true]);
  assert.equal(info({ type: 'dir', sizeBytes: 0 }).size, '4096');
});

test('paths begin at the home of the user unless they are absolute', () => {
  const actor = { account: { name: 'user', uid: 1000, gid: 100, home: '/home/user' }, accounts };
  const cases = [
    ['', '/home/user'],
    ['~', '/home/user'],
    ['~/', '/home/user'],
    ['a/../b/./c/', '/home/user/b/c'],
    ['../../..', '/'],
    ['~/x', '/home/user/x'],
    ['/a//b/', '/a//b/'],
    ['a~b', '/home/user/a~b'],
  ] as const;
  for (const [path, absolute] of cases) assert.equal(resolvePath(path, actor), absolute, path);
  assert.throws(() => resolvePath('~other/x', actor), { code: 'invalid_argument' });
  assert.deepEqual(['/a/b/', '/', '/a'].map(nameOf), ['b', '/', 'a']);
});
