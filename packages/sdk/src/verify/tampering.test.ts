import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { kindOf, tampering } from './tampering.ts';

const file = (path: string, change: 'added' | 'changed' | 'deleted' = 'changed') =>
  ({ path, change, type: 'file' }) as const;

test('each kind of tampering is told by where it is', () => {
  for (const [path, what] of [
    ['/usr/bin/bash', 'interpreter'],
    ['/bin/sh', 'interpreter'],
    ['/usr/bin/python3.11', 'interpreter'],
    ['/usr/local/bin/pytest', 'interpreter'],
    ['/usr/lib/python3.11/unittest/case.py', 'interpreter'],
    ['/usr/local/lib/python3.12/site-packages/_pytest/runner.py', 'interpreter'],
    ['/usr/bin/curl', 'binary'],
    ['/root/.local/bin/anything', 'binary'],
    ['/usr/lib/x86_64-linux-gnu/libc.so.6', 'library'],
    ['/lib64/ld-linux-x86-64.so.2', 'library'],
    ['/usr/local/lib/libevil.so', 'library'],
    ['/usr/lib/node_modules/jest/index.js', 'library'],
    ['/etc/ld.so.preload', 'startup'],
    ['/etc/ld.so.conf.d/a.conf', 'startup'],
    ['/etc/profile.d/x.sh', 'startup'],
    ['/home/user/.bashrc', 'startup'],
    ['/usr/lib/python3/dist-packages/evil.pth', 'startup'],
    ['/usr/lib/python3/dist-packages/sitecustomize.py', 'startup'],
    ['/srv/repo/.git/hooks/pre-commit', 'startup'],
    ['/tests/conftest.py', 'startup'],
    ['/etc/passwd', 'account'],
    ['/etc/shadow', 'account'],
    ['/etc/sudoers.d/me', 'account'],
    ['/etc/pam.d/common-auth', 'account'],
    ['/etc/cron.d/job', 'scheduler'],
    ['/etc/systemd/system/x.service', 'scheduler'],
    ['/var/spool/cron/crontabs/root', 'scheduler'],
    ['/srv/data.csv', 'other'],
  ] as const)
    assert.equal(kindOf(path), what, path);
});

test('what is in the workspace, and residue, is no tampering', () => {
  const { entries } = tampering(
    [
      file('/app/conftest.py'),
      file('/app/sub/x.py'),
      file('/tmp/x'),
      file('/var/log/dpkg.log'),
      file('/application/x'),
    ],
    ['/app'],
  );
  assert.deepEqual(entries, [{ path: '/application/x', change: 'changed', what: 'other' }]);
});

test('the list is bounded, worst first, and the counts are complete', () => {
  const many = Array.from({ length: 5000 }, (_, i) => file(`/srv/${i}`, 'added'));
  const { entries, counts } = tampering([...many, file('/usr/bin/new', 'added'), file('/bin/sh'), file('/etc/passwd')]);
  assert.equal(entries.length, 200);
  assert.deepEqual(
    entries.slice(0, 3).map(({ path }) => path),
    ['/bin/sh', '/usr/bin/new', '/etc/passwd'],
  );
  assert.deepEqual(counts, { other: 5000, binary: 1, interpreter: 1, account: 1 });
});

test('no path makes the search for its kind fail or take long', () => {
  fc.assert(fc.property(fc.string({ maxLength: 4096 }), (path) => typeof kindOf(`/${path}`) === 'string'));
  assert.equal(typeof kindOf(`/${'a/'.repeat(2000)}`), 'string');
});
