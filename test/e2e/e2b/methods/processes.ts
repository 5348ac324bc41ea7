import assert from 'node:assert/strict';
import { setTimeout as delay } from 'node:timers/promises';
import type { CommandHandle, Sandbox } from 'e2b';
import type { Checks } from './bed.ts';

const background = { background: true, timeoutMs: 0 } as const;
const NO_PID = 999_999;

/** `commands`, its handles, and terminals. */
export const PROCESS_CHECKS: Checks = {
  'sandbox.commands.run': async ({ sandbox }) => {
    const chunks: string[] = [];
    const options = { envs: { NAME: 'ü' }, cwd: '/tmp', onStdout: (text: string) => void chunks.push(text) };
    const result = await sandbox.commands.run('echo "$NAME $PWD $(whoami)"; echo wrong >&2', options);
    assert.deepEqual([result.exitCode, result.stdout, result.stderr], [0, 'ü /tmp user\n', 'wrong\n']);
    assert.equal(chunks.join(''), 'ü /tmp user\n');
    await assert.rejects(sandbox.commands.run('echo out; exit 3'), {
      name: 'CommandExitError',
      exitCode: 3,
      stdout: 'out\n',
    });
  },
  'sandbox.commands.list': async ({ sandbox }) => {
    const handle = await sandbox.commands.run('sleep 1001', { ...background, envs: { LISTED: 'yes' }, cwd: '/tmp' });
    const found = (await sandbox.commands.list()).find(({ pid }) => pid === handle.pid);
    assert.ok(
      found?.args.some((arg) => arg.includes('sleep 1001')),
      JSON.stringify(found),
    );
    assert.deepEqual([found?.cmd, found?.envs.LISTED, found?.cwd], ['/bin/bash', 'yes', '/tmp']);
    await handle.kill();
  },
  'sandbox.commands.kill': async ({ sandbox }) => {
    const { pid } = await sandbox.commands.run('sleep 1002', background);
    assert.equal(await sandbox.commands.kill(pid), true);
    await until(async () => (await sandbox.commands.list()).every((process) => process.pid !== pid));
    assert.equal(await sandbox.commands.kill(NO_PID), false);
  },
  'sandbox.commands.connect': async ({ sandbox }) => {
    const started = await sandbox.commands.run('read line; echo "got $line"; exit 5', { ...background, stdin: true });
    const again = await sandbox.commands.connect(started.pid);
    assert.equal(again.pid, started.pid);
    await sandbox.commands.sendStdin(started.pid, 'a line\n');
    await assert.rejects(again.wait(), { exitCode: 5, stdout: 'got a line\n' });
    await assert.rejects(started.wait(), { exitCode: 5, stdout: 'got a line\n' });
    await assert.rejects(sandbox.commands.connect(NO_PID), { name: 'NotFoundError' });
  },
  'sandbox.commands.sendStdin': async ({ sandbox }) => {
    const handle = await sandbox.commands.run('head -c 12', { ...background, stdin: true });
    await sandbox.commands.sendStdin(handle.pid, 'häl');
    await sandbox.commands.sendStdin(handle.pid, new Uint8Array([108, 111, 10, 33, 33, 33, 33, 33]));
    assert.equal((await handle.wait()).stdout, 'hällo\n!!!!!');
  },
  'sandbox.commands.closeStdin': async ({ sandbox }) => {
    const handle = await sandbox.commands.run('cat; echo end', { ...background, stdin: true });
    await sandbox.commands.sendStdin(handle.pid, 'all\n');
    await sandbox.commands.closeStdin(handle.pid);
    assert.equal((await handle.wait()).stdout, 'all\nend\n');
  },
  'commandHandle.wait': async ({ sandbox }) => {
    const handle = await sandbox.commands.run('sleep 0.2; echo done', background);
    const { exitCode, stdout, stderr } = await handle.wait();
    assert.deepEqual([exitCode, stdout, stderr], [0, 'done\n', '']);
    assert.equal(handle.exitCode, 0);
  },
  'commandHandle.kill': async ({ sandbox }) => {
    const handle = await sandbox.commands.run('sleep 1003', background);
    assert.equal(await handle.kill(), true);
    await assert.rejects(handle.wait(), { name: 'CommandExitError' });
  },
  'commandHandle.disconnect': async ({ sandbox }) => {
    const handle = await sandbox.commands.run('sleep 1; echo after > /tmp/after-disconnect', background);
    await handle.disconnect();
    await until(() => sandbox.files.exists('/tmp/after-disconnect'));
  },
  'commandHandle.sendStdin': async ({ sandbox }) => {
    const handle = await sandbox.commands.run('read line; echo "$line!"', { ...background, stdin: true });
    await handle.sendStdin('by the handle\n');
    assert.equal((await handle.wait()).stdout, 'by the handle!\n');
  },
  'commandHandle.closeStdin': async ({ sandbox }) => {
    const handle = await sandbox.commands.run('wc -c', { ...background, stdin: true });
    await handle.sendStdin('12345');
    await handle.closeStdin();
    assert.equal((await handle.wait()).stdout, '5\n');
  },
  'sandbox.pty.create': async ({ sandbox }) => {
    const terminal = await open(sandbox, { envs: { IN_PTY: 'yes' }, cwd: '/tmp' });
    await sandbox.pty.sendInput(terminal.pid, bytes('echo $IN_PTY-$PWD-$(tput cols); exit\n'));
    assert.equal((await terminal.handle.wait()).exitCode, 0);
    assert.match(terminal.output(), /yes-\/tmp-80/);
  },
  'sandbox.pty.sendInput': async ({ sandbox }) => {
    const terminal = await open(sandbox);
    await sandbox.pty.sendInput(terminal.pid, bytes('exit 7\n'));
    await assert.rejects(terminal.handle.wait(), { exitCode: 7 });
  },
  'sandbox.pty.resize': async ({ sandbox }) => {
    const terminal = await open(sandbox);
    await sandbox.pty.resize(terminal.pid, { cols: 132, rows: 40 });
    await sandbox.pty.sendInput(terminal.pid, bytes('stty size; exit\n'));
    await terminal.handle.wait();
    assert.match(terminal.output(), /40 132/);
  },
  'sandbox.pty.connect': async ({ sandbox }) => {
    const terminal = await open(sandbox);
    await terminal.handle.disconnect();
    const { onData, output } = screen();
    const again = await sandbox.pty.connect(terminal.pid, { onData });
    await sandbox.pty.sendInput(terminal.pid, bytes('echo $((40 + 2))again; exit\n'));
    assert.equal((await again.wait()).exitCode, 0);
    assert.match(output(), /42again/);
  },
  'sandbox.pty.kill': async ({ sandbox }) => {
    const terminal = await open(sandbox);
    assert.equal(await sandbox.pty.kill(terminal.pid), true);
    await assert.rejects(terminal.handle.wait());
    assert.equal(await sandbox.pty.kill(NO_PID), false);
  },
};

type Terminal = { pid: number; handle: CommandHandle; output(): string };

async function open(
  sandbox: Sandbox,
  options: { envs?: Record<string, string>; cwd?: string } = {},
): Promise<Terminal> {
  const { onData, output } = screen();
  const handle = await sandbox.pty.create({ cols: 80, rows: 24, onData, timeoutMs: 0, ...options });
  return { pid: handle.pid, handle, output };
}

/** What a terminal prints, as text. */
function screen(): { onData(data: Uint8Array): void; output(): string } {
  const decoder = new TextDecoder();
  let text = '';
  return {
    onData: (data) => {
      text += decoder.decode(data, { stream: true });
    },
    output: () => text,
  };
}

const bytes = (text: string) => new TextEncoder().encode(text);

/** Waits at most ten seconds. */
async function until(holds: () => Promise<boolean>): Promise<void> {
  for (let tries = 0; !(await holds()); tries += 1) {
    assert.ok(tries < 100, 'it did not come');
    await delay(100);
  }
}
