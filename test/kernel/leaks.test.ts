/** The leak check can find each kind of thing: without this, a check that sees nothing would look like a clean machine. */
import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, rmdirSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { leaksNow, prepareRun } from '../harness/leaks.ts';

const run = prepareRun();
const state = join(run.directory, 'state');
const hash = (text: string) => createHash('sha256').update(text).digest('hex').slice(0, 8);
const runDirectory = `/run/vivarium-${hash(state)}`;
mkdirSync(state);
writeFileSync(join(state, 'vivarium-state'), '');
after(() => {
  rmSync(run.directory, { recursive: true });
  rmSync(runDirectory, { recursive: true, force: true });
});

const found = (kind: RegExp) => leaksNow(run).filter((leak) => kind.test(leak)).length;

test('a clean run has no leaks', () => {
  assert.deepEqual(leaksNow(run), []);
});

test('a process is found', () => {
  const child = spawn('sleep', ['60'], { env: { ...process.env, ...run.env } });
  assert.equal(found(/^process \d+: sleep 60/), 1);
  child.kill('SIGKILL');
});

test('a mount and its loop device are found, in whatever namespace', () => {
  const file = join(run.directory, 'disk.img');
  const target = join(run.directory, 'mnt');
  mkdirSync(target);
  execFileSync('truncate', ['-s', '8M', file]);
  execFileSync('mkfs.ext4', ['-q', '-F', file]);
  const child = spawn('unshare', [
    '--mount',
    'sh',
    '-c',
    `mount -o loop ${file} ${target} && echo up && exec sleep 60`,
  ]);
  return new Promise<void>((resolve, reject) => {
    child.once('error', reject);
    child.stdout.once('data', () => {
      const counts = [found(/^mount in the namespace/) > 0, found(/^loop device/)];
      child.kill('SIGKILL');
      child.once('exit', () => {
        assert.deepEqual(counts, [true, 1]);
        resolve();
      });
    });
  });
});

test('a socket in the node’s run directory is found', async () => {
  mkdirSync(runDirectory, { recursive: true });
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(join(runDirectory, 'x.sock'), resolve));
  assert.equal(found(/^unix socket/), 1);
  await new Promise((resolve) => server.close(resolve));
});

test('a control group of the node is found', (t) => {
  const base = ['/sys/fs/cgroup/pids', '/sys/fs/cgroup'].find((path) => existsSync(join(path, 'cgroup.procs')));
  if (base === undefined) return t.skip('no control groups here');
  const group = join(base, `vivarium-${hash(runDirectory)}`);
  mkdirSync(group);
  assert.equal(found(/^control group/), 1);
  rmdirSync(group);
});
