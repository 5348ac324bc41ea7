import assert from 'node:assert/strict';
import { execFile, execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join, resolve } from 'node:path';
import { after, before, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { endedExec, fakeExec, fakeSandbox } from './testing/fake-exec.ts';
import { FakeServer } from './testing/fake-server.ts';

const run = promisify(execFile);
const root = resolve(import.meta.dirname, '..');
const scratch = mkdtempSync(join(tmpdir(), 'viv-published-'));
const dist = join(scratch, 'dist');
before(() => execFileSync(process.execPath, [join(root, 'scripts/build.ts'), dist], { stdio: 'inherit' }));
after(() => rmSync(scratch, { recursive: true }));

/** The machine's own Node, which may be as old as 20, rather than the one that comes with the repository. */
const PATH = (process.env.PATH ?? '')
  .split(delimiter)
  .filter((folder) => !folder.includes('node_modules'))
  .join(delimiter);

/** What npm would install beside it. */
before(() => {
  mkdirSync(join(scratch, 'node_modules'));
  for (const name of ['ws', 'tar-stream'])
    symlinkSync(resolve(root, '../../node_modules', name), join(scratch, 'node_modules', name));
});

test('the built package creates, runs and ends on the Node of the machine', async () => {
  const server = await FakeServer.start();
  server.routes.set('POST /v1/sandboxes', { json: fakeSandbox() });
  server.routes.set(`DELETE /v1/sandboxes/${fakeSandbox().id}`, { json: fakeSandbox({ state: 'ended' }) });
  server.onOpen = async (_req, channel) => {
    channel.opened(fakeExec());
    await channel.data(1, Buffer.from('hello'));
    channel.event({ type: 'exit', exec: endedExec(0) });
  };
  const program = join(scratch, 'program.mjs');
  writeFileSync(
    program,
    `import { Vivarium } from '${pathToFileURL(join(dist, 'sdk/src/index.js'))}';
import '${pathToFileURL(join(dist, 'sdk/src/node.js'))}';
const viv = new Vivarium({ url: '${server.url}', apiKey: 'k' });
const sandbox = await viv.sandboxes.create({ image: 'a@1' });
const { stdout } = await sandbox.exec('x');
await sandbox.kill();
console.log(stdout, sandbox.state, parseInt(process.versions.node) >= 20);`,
  );
  try {
    const { stdout } = await run('node', [program], {
      env: { ...process.env, PATH, NODE_OPTIONS: '' },
      timeout: 20_000,
    });
    assert.equal(stdout, 'hello ended true\n');
  } finally {
    await server.close();
  }
});

test('its declarations need nothing but TypeScript', async () => {
  const consumer = join(scratch, 'consumer.ts');
  writeFileSync(
    consumer,
    `import { Vivarium, type SandboxInfo, VivError } from '${join(dist, 'sdk/src/index.js')}';
export async function main(): Promise<SandboxInfo> {
  const viv = new Vivarium();
  await using sandbox = await viv.sandboxes.create({ image: 'base/debian@12', limits: { memoryMiB: 64 } });
  const code: number = (await sandbox.exec(['true'])).exitCode;
  if (code !== 0) throw new VivError('command_failed', 'x');
  // @ts-expect-error an unknown limit is a type error
  await viv.sandboxes.create({ image: 'a@1', limits: { memory: 1 } });
  for await (const entry of sandbox.files.list('/')) entry.sizeBytes.toFixed();
  return sandbox.info;
}\n`,
  );
  const compilerOptions = {
    noEmit: true,
    strict: true,
    target: 'es2022',
    module: 'nodenext',
    lib: ['es2022', 'esnext.disposable', 'dom', 'dom.asynciterable'],
    types: [],
  };
  writeFileSync(join(scratch, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: ['consumer.ts'] }));
  const tsc = join(root, '../../node_modules/typescript/bin/tsc');
  await run(process.execPath, [tsc, '-p', scratch], { timeout: 120_000 }).catch((error: { stdout: string }) =>
    assert.fail(error.stdout),
  );
});
