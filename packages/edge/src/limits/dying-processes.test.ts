import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { DyingProcesses } from './dying-processes.ts';

test('a killed process is waited for until it holds nothing', async () => {
  const child = spawn('sleep', ['60']);
  const processes = new DyingProcesses();
  processes.add(child.pid!);
  child.kill('SIGKILL');
  await processes.gone(Date.now() + 10_000);
  assert.ok(['Z', undefined].includes(stateOf(child.pid!)));
});

test('a process that lives on is waited for until the deadline, one that is gone before is no matter', async () => {
  const child = spawn('sleep', ['60']);
  const processes = new DyingProcesses();
  processes.add(child.pid!);
  processes.add(2 ** 22 + 1);
  await processes.gone(Date.now() + 30);
  assert.equal(child.exitCode, null);
  child.kill('SIGKILL');
  await once(child, 'exit');
});

function stateOf(pid: number): string | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'latin1');
    return text[text.lastIndexOf(')') + 2];
  } catch {
    return undefined;
  }
}
