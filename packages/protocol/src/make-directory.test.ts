import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { makeDirectory } from './make-directory.ts';

const scratch = mkdtempSync(join(tmpdir(), 'viv-make-directory-'));
after(() => rmSync(scratch, { recursive: true }));

test('parents are made, with the mode; what is there already is fine, also by way of a link', () => {
  makeDirectory(join(scratch, 'a/b/c'), 0o700);
  assert.equal(statSync(join(scratch, 'a/b')).mode & 0o777, 0o700);
  makeDirectory(join(scratch, 'a/b/c'));
  symlinkSync('a', join(scratch, 'link'));
  makeDirectory(join(scratch, 'link/d'));
  assert.ok(statSync(join(scratch, 'a/d')).isDirectory());
});

test('a directory that can not be made is an error, not an endless try', () => {
  assert.throws(() => makeDirectory('/proc/no/such'), { code: 'ENOENT' });
  writeFileSync(join(scratch, 'file'), '');
  assert.throws(() => makeDirectory(join(scratch, 'file/x')), { code: 'EEXIST', path: join(scratch, 'file') });
  assert.throws(() => makeDirectory(join(scratch, 'file')), { code: 'EEXIST' });
});
