import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { RunnerLock, runnerOf } from './runner-lock.ts';

const dir = mkdtempSync(join(tmpdir(), 'viv-lock-'));
after(() => rmSync(dir, { recursive: true }));
const file = join(dir, 'runner.lock');

test('one runner at a time, and nothing is left when it ends', () => {
  {
    using _held = RunnerLock.take(dir);
    assert.throws(() => RunnerLock.take(dir), { code: 'job_running' });
    assert.equal(runnerOf(dir)?.pid, process.pid);
  }
  assert.deepEqual(readdirSync(dir), []);
  assert.equal(runnerOf(dir), undefined);
});

test('the lock of a process that is gone is taken over', () => {
  const { pid } = spawnSync('true');
  const host = machineOf();
  writeFileSync(file, JSON.stringify({ pid, startTime: '1', host }));
  using _held = RunnerLock.take(dir);
  assert.equal(runnerOf(dir)?.pid, process.pid);
});

test('a pid that went to another process does not hold the lock, nor does a broken file', () => {
  writeFileSync(file, JSON.stringify({ pid: process.pid, startTime: '1', host: machineOf() }));
  RunnerLock.take(dir)[Symbol.dispose]();
  writeFileSync(file, '{"pid": 1');
  RunnerLock.take(dir)[Symbol.dispose]();
  assert.equal(existsSync(file), false);
});

test('a lock of before a reboot is stale, one of another machine is not', () => {
  const [name] = machineOf().split(' ');
  writeFileSync(file, JSON.stringify({ pid: 1, startTime: '1', host: `${name} another-boot` }));
  RunnerLock.take(dir)[Symbol.dispose]();
  writeFileSync(file, JSON.stringify({ pid: 1, startTime: '1', host: 'elsewhere boot' }));
  assert.throws(() => RunnerLock.take(dir), { code: 'job_running' });
  rmSync(file);
});

/** As the lock writes it. */
function machineOf(): string {
  using _held = RunnerLock.take(dir);
  return (JSON.parse(readFileSync(file, 'utf8')) as { host: string }).host;
}
