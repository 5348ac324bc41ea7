import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { lockHolder } from './starting.ts';

test('the holder of a lock is told by its pid, and none when it is free', async (t) => {
  const dir = mkdtempSync(join(tmpdir(), 'viv-lock-'));
  t.after(() => rmSync(dir, { recursive: true }));
  const file = join(dir, 'lock');
  assert.equal(lockHolder(file), undefined, 'no file');
  const child = spawn('flock', ['--no-fork', file, 'sh', '-c', 'echo locked; exec sleep 30'], {
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  await new Promise((resolve) => child.stdout.once('data', resolve));
  assert.equal(lockHolder(file), child.pid);
  child.kill('SIGKILL');
  await new Promise((resolve) => child.once('exit', resolve));
  assert.equal(lockHolder(file), undefined, 'free again');
});
