import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';

const SETUP = join(import.meta.dirname, 'setup.sh');
const directory = mkdtempSync(join(tmpdir(), 'viv-setup-'));
after(() => rmSync(directory, { recursive: true }));

/** Runs the checks (which touch nothing) on a machine that some programs pretend to be. */
function check(programs: Record<string, string>): { code: number | null; stderr: string } {
  const path = mkdtempSync(join(directory, 'path-'));
  for (const [name, body] of Object.entries({ id: 'echo 0', ...programs })) {
    writeFileSync(join(path, name), `#!/bin/sh\n${body}\n`);
    chmodSync(join(path, name), 0o755);
  }
  const env = { ...process.env, PATH: `${path}:${process.env.PATH}` };
  const { status, stderr } = spawnSync('sh', [SETUP, '--check'], { env, encoding: 'utf8' });
  return { code: status, stderr };
}

const uname = (kernel: string, machine = 'x86_64', system = 'Linux') =>
  `case $1 in -s) echo ${system} ;; -m) echo ${machine} ;; -r) echo ${kernel} ;; esac`;

test('a machine that has everything passes in silence', () => {
  assert.deepEqual(check({ uname: uname('6.1.0-35-amd64') }), { code: 0, stderr: '' });
});

test('what is missing is named with its remedy, and nothing is changed', () => {
  const cases: [Record<string, string>, RegExp][] = [
    [{ id: 'echo 1000' }, /not root \(uid 1000\)\n +Run it as root/],
    [
      { uname: uname('5.15.0-100-generic') },
      /kernel 5\.15\.0-100-generic is too old, 6\.1 or later is needed\n +Upgrade/,
    ],
    [{ uname: uname('6.0.9') }, /kernel 6\.0\.9 is too old/],
    [{ uname: uname('6.8.0', 'aarch64') }, /this machine is aarch64, a node needs x86-64/],
    [{ uname: uname('24.0.0', 'arm64', 'Darwin') }, /this is Darwin, a node needs Linux/],
    [{ node: 'echo v18.20.0' }, /node v18\.20\.0 is too old, 20 or later is needed/],
    [{ df: 'echo; echo x x x 1024' }, /has 1 MiB free, \d+ MiB are needed\n +Free some space/],
  ];
  for (const [programs, message] of cases) {
    const { code, stderr } = check({ uname: uname('6.1.0'), ...programs });
    assert.equal(code, 1, stderr);
    assert.match(stderr, message);
    assert.match(stderr, /nothing was changed/);
  }
});

test('everything that is missing is said at once', () => {
  const { stderr } = check({ id: 'echo 1000', uname: uname('5.10.0') });
  assert.match(stderr, /not root[\s\S]*too old/);
});

test('an unknown argument is refused', () => {
  const { status, stderr } = spawnSync('sh', [SETUP, 'everything'], { encoding: 'utf8' });
  assert.equal(status, 1);
  assert.match(stderr, /unknown argument 'everything'/);
});
