import assert from 'node:assert/strict';
import { execFile, execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join, resolve } from 'node:path';
import { after, before, test } from 'node:test';
import { promisify } from 'node:util';
import { endedExec, fakeExec, SANDBOX_ID } from '@vivarium/sdk/testing/fake-exec.ts';
import { FakeServer } from '@vivarium/sdk/testing/fake-server.ts';

const run = promisify(execFile);
const packages = resolve(import.meta.dirname, '../..');
const scratch = mkdtempSync(join(tmpdir(), 'viv-published-cli-'));
const modules = join(scratch, 'node_modules');

/** As npm would install it: all three packages as they would be published, with what they depend on. */
before(() => {
  for (const name of ['sdk', 'eval', 'cli']) {
    const target = join(modules, '@vivarium', name);
    execFileSync(process.execPath, [join(packages, name, 'scripts/build.ts'), target], { stdio: 'inherit' });
  }
  mkdirSync(modules, { recursive: true });
  for (const name of ['commander', 'ws', 'tar-stream', 'smol-toml', 'zod'])
    symlinkSync(resolve(packages, '../node_modules', name), join(modules, name));
});
after(() => rmSync(scratch, { recursive: true }));

/** The machine's own Node, which may be as old as 20. */
const PATH = (process.env.PATH ?? '')
  .split(delimiter)
  .filter((folder) => !folder.includes('node_modules'))
  .join(delimiter);

test('the published viv runs a command on the Node of the machine', async () => {
  const server = await FakeServer.start();
  server.onOpen = async (_req, channel) => {
    channel.opened(fakeExec());
    await channel.data(1, Buffer.from('out'));
    channel.event({ type: 'exit', exec: endedExec(4) });
  };
  const viv = (...args: string[]) =>
    run('node', [join(modules, '@vivarium/cli/src/main.js'), ...args], {
      env: { PATH, HOME: scratch, VIV_URL: server.url, VIV_API_KEY: 'k' },
      timeout: 20_000,
    });
  try {
    await assert.rejects(viv('exec', SANDBOX_ID, '--', 'x'), { code: 4, stdout: 'out', stderr: '' });
    assert.match((await viv('version')).stdout, /^viv \d+\.\d+\.\d+\n$/);
    assert.match((await viv('help', 'cp')).stdout, /Usage: viv cp/);
    assert.match((await viv('help', 'eval')).stdout, /Usage: viv eval/);
    assert.match((await viv('job', 'ls', '-o', scratch)).stderr, /no jobs/);
    await assert.rejects(viv('up'), { code: 6, stderr: /^viv: `viv up` is not part of this installation/ });
  } finally {
    await server.close();
  }
});
