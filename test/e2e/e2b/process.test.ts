/** What the process service does beyond one call of each method (methods/processes.ts): ends, re-connects, floods, restarts. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import {
  type CommandExitError,
  type CommandHandle,
  RateLimitError,
  type Sandbox,
  SandboxError,
  TimeoutError,
} from 'e2b';
import { type E2bNode, startE2bNode } from '../../harness/e2b.ts';

const MIB = 1_048_576;
const background = { background: true, timeoutMs: 0 } as const;

let node: E2bNode;
let sandbox: Sandbox;
before(async () => {
  node = await startE2bNode();
  sandbox = await node.create();
});
after(() => node.close());

const failed = (handle: CommandHandle) =>
  handle.wait().then(
    () => assert.fail('it ended well'),
    (error: CommandExitError) => error,
  );

/** Is there a process with these words in its command line? The brackets keep the search from finding itself. */
async function anyLike(words: string): Promise<boolean> {
  const pattern = `[${words[0]}]${words.slice(1)}`;
  return (await sandbox.commands.run(`pgrep -f '${pattern}' || true`)).stdout !== '';
}

test('the end of a command says what ended it', async () => {
  const ends = [];
  for (const command of ['exit 3', 'kill -SEGV $$', 'kill -TERM $$', 'nonesuch']) {
    const { exitCode, error } = await failed(await sandbox.commands.run(command, background));
    ends.push([exitCode, error]);
  }
  assert.deepEqual(ends, [
    [3, 'exit status 3'],
    [-1, 'signal: segmentation fault'],
    [-1, 'signal: terminated'],
    [127, 'exit status 127'],
  ]);
});

test('killing a command ends all that it started, and it is gone when that is answered', async () => {
  const handle = await sandbox.commands.run('setsid sleep 4711 & sleep 4712; echo done', background);
  while (!(await anyLike('sleep 4711')));
  assert.equal(await handle.kill(), true);
  assert.deepEqual(
    (await sandbox.commands.list()).filter(({ pid }) => pid === handle.pid),
    [],
  );
  const { exitCode, error } = await failed(handle);
  assert.deepEqual([exitCode, error], [-1, 'signal: killed']);
  assert.equal(await anyLike('sleep 471'), false);
  assert.equal(await handle.kill(), false);
});

test('a time-out ends all that the command started; 0 is none', async () => {
  await assert.rejects(sandbox.commands.run('sleep 4721 & sleep 4722; echo done', { timeoutMs: 700 }), TimeoutError);
  while (await anyLike('sleep 472')) await delay(50);
  const handle = await sandbox.commands.run('sleep 4723 & echo parent', { timeoutMs: 0 });
  assert.equal(handle.stdout, 'parent\n', 'a child in the background does not hold its command');
  assert.equal(await anyLike('sleep 4723'), true);
});

test('a client that left gets what it missed, by pid and by tag', async () => {
  const handle = await sandbox.commands.run('echo one; read go; echo two; read go; echo three; exit 4', {
    ...background,
    stdin: true,
  });
  while (handle.stdout !== 'one\n') await delay(20);
  await handle.disconnect();
  await sandbox.commands.sendStdin(handle.pid, '\n');
  await delay(200);
  const again = await sandbox.commands.connect(handle.pid);
  await sandbox.commands.sendStdin(handle.pid, '\n');
  const { exitCode, stdout } = await failed(again);
  assert.deepEqual([exitCode, stdout], [4, 'two\nthree\n']);

  const start = {
    process: { cmd: 'sh', args: ['-c', 'echo tagged; read line; exit 6'] },
    tag: 'the tag',
  };
  const first = rpcStream('Start', start);
  const tagged = async () => (await sandbox.commands.list()).find(({ tag }) => tag === 'the tag');
  let listed = await tagged();
  for (; listed === undefined; listed = await tagged()) await delay(20);
  assert.deepEqual(listed.args, start.process.args);
  const second = rpcStream('Connect', { process: { tag: 'the tag' } });
  await sandbox.commands.sendStdin(listed.pid, '\n');
  for (const stream of [await first, await second]) assert.match(stream, /"exitCode":6/);
});

test('an ended command is told of again, whole, for a late client', async () => {
  const handle = await sandbox.commands.run('echo early; echo wrong >&2; exit 5', background);
  await failed(handle);
  for (let times = 0; times < 2; times++) {
    const { exitCode, stdout, stderr } = await failed(await sandbox.commands.connect(handle.pid));
    assert.deepEqual([exitCode, stdout, stderr], [5, 'early\n', 'wrong\n']);
  }
});

test('two clients follow one command', async () => {
  const handle = await sandbox.commands.run('read go; echo x; read go; echo y', { ...background, stdin: true });
  const other = await sandbox.commands.connect(handle.pid);
  await handle.sendStdin('\n\n');
  assert.deepEqual([(await handle.wait()).stdout, (await other.wait()).stdout], ['x\ny\n', 'x\ny\n']);
});

test('much output arrives whole, and characters that are cut in two are whole again', async () => {
  const script = `import sys; [sys.stdout.write("aé漢😀") for i in range(${4 * MIB})]`;
  let length = 0;
  const seen = createHash('sha256');
  const { stdout } = await sandbox.commands.run(`python3 -c '${script}'`, {
    timeoutMs: 0,
    onStdout: (text) => {
      length += text.length;
      seen.update(text);
    },
  });
  const expected = createHash('sha256')
    .update('aé漢😀'.repeat(4 * MIB))
    .digest('hex');
  assert.equal(length, 5 * 4 * MIB);
  assert.equal(createHash('sha256').update(stdout).digest('hex'), expected);
  assert.equal(seen.digest('hex'), expected);
});

test('bytes that are no text come through a terminal as they are', async () => {
  const chunks: Uint8Array[] = [];
  const terminal = await sandbox.pty.create({
    cols: 80,
    rows: 24,
    timeoutMs: 0,
    onData: (data) => void chunks.push(data),
  });
  const script = "stty raw -echo; printf '<'; printf '\\377\\000\\200\\n'; printf '>'; exit\n";
  await sandbox.pty.sendInput(terminal.pid, Buffer.from(script));
  await terminal.wait();
  assert.ok(Buffer.concat(chunks).includes(Buffer.from([0x3c, 0xff, 0x00, 0x80, 0x0a, 0x3e])));
});

test('a client that reads slowly makes the command wait, and gets all of it', async () => {
  const handle = await sandbox.commands.run(`head -c ${24 * MIB} /dev/zero; echo end`, {
    ...background,
    onStdout: () => delay(1),
  });
  const before = serverMemory();
  const { stdout } = await handle.wait();
  assert.equal(stdout.length, 24 * MIB + 4);
  assert.ok(serverMemory() - before < 128 * MIB, 'the server did not hold it for the client');
});

test('megabytes of input arrive whole; more than a message may hold is refused', async () => {
  const handle = await sandbox.commands.run('sha256sum', { ...background, stdin: true });
  const part = Buffer.alloc(6 * MIB, 'ü漢');
  await handle.sendStdin(part);
  await handle.sendStdin(part);
  await handle.closeStdin();
  const expected = createHash('sha256').update(part).update(part).digest('hex');
  assert.equal((await handle.wait()).stdout, `${expected}  -\n`);
  const refused = await sandbox.commands.run('cat', { ...background, stdin: true });
  await assert.rejects(refused.sendStdin(new Uint8Array(26 * MIB)), RateLimitError);
  await refused.kill();
});

test('input that nobody can read is refused with the reason', async () => {
  const without = await sandbox.commands.run('sleep 4731', background);
  await assert.rejects(without.sendStdin('x'), /stdin of process \d+ is not open/);
  await without.closeStdin();
  await without.kill();
  const closed = await sandbox.commands.run('cat; sleep 4732', { ...background, stdin: true });
  await closed.closeStdin();
  await closed.closeStdin();
  await assert.rejects(closed.sendStdin('x'), /is not open/);
  await assert.rejects(sandbox.pty.sendInput(closed.pid, new Uint8Array([4])), /has no terminal/);
  await assert.rejects(sandbox.pty.resize(closed.pid, { cols: 9, rows: 9 }), /has no terminal/);
  await closed.kill();
  await assert.rejects(closed.sendStdin('x'), { name: 'NotFoundError' });
});

test('directories are those of the user: absolute, relative to its home, or with ~', async () => {
  await sandbox.commands.run("mkdir -p 'of user/inner'");
  const at = async (cwd: string) => (await sandbox.commands.run('pwd', { cwd })).stdout;
  assert.equal(await at('of user'), '/home/user/of user\n');
  assert.equal(await at('~/of user/inner'), '/home/user/of user/inner\n');
  assert.equal(await at('~'), '/home/user\n');
  await assert.rejects(at('/not/there'), {
    name: 'InvalidArgumentError',
    message: /cwd '\/not\/there' does not exist/,
  });
  await assert.rejects(at('/etc/passwd'), { name: 'InvalidArgumentError' });
  assert.equal((await sandbox.commands.run('echo $HOME $USER', { user: 'root' })).stdout, '/root root\n');
});

test('killing the sandbox ends the streams of its commands at once, and they say why', async () => {
  const doomed = await node.create();
  const handles = [
    await doomed.commands.run('sleep 4741', background),
    await doomed.pty.create({ cols: 80, rows: 24, onData: () => {}, timeoutMs: 0 }),
  ];
  handles.push(await doomed.commands.connect(handles[0]!.pid, { timeoutMs: 0 }));
  const ends = handles.map((handle) => failed(handle));
  await doomed.kill();
  for (const error of await Promise.all(ends)) {
    assert.ok(error instanceof SandboxError);
    assert.match(error.message, /sandbox was killed or reached its end of life/);
  }
  await assert.rejects(doomed.commands.run('true'), SandboxError);
});

test('a command outlives a crash of the server: it is found by pid, with all that it printed', async () => {
  const other = await node.create();
  const handle = await other.commands.run('echo before; read line; echo "after $line"; exit 9', {
    ...background,
    stdin: true,
  });
  const terminal = await other.pty.create({ cols: 80, rows: 24, onData: () => {}, timeoutMs: 0 });
  const lost = failed(handle);
  await node.node.kill9();
  assert.ok((await lost) instanceof SandboxError);
  await node.node.start();
  const listed = (await other.commands.list()).map(({ pid }) => pid);
  assert.deepEqual(listed, [handle.pid, terminal.pid]);
  const again = await other.commands.connect(handle.pid, { timeoutMs: 0 });
  await other.commands.sendStdin(handle.pid, 'it\n');
  const { exitCode, stdout } = await failed(again);
  assert.deepEqual([exitCode, stdout], [9, 'before\nafter it\n']);
  const { exitCode: late } = await failed(await other.commands.connect(handle.pid));
  assert.equal(late, 9);
  const shell = await other.pty.connect(terminal.pid, { timeoutMs: 0, onData: () => {} });
  await other.pty.sendInput(terminal.pid, Buffer.from('exit 8\n'));
  assert.equal((await failed(shell)).exitCode, 8);
});

function serverMemory(): number {
  const status = readFileSync(`/proc/${node.node.serverPid()}/status`, 'utf8');
  return Number(/VmRSS:\s+(\d+)/.exec(status)![1]) * 1024;
}

/** A stream of the service as a client would open it that can also set a tag; its frames as text. */
async function rpcStream(method: string, message: object): Promise<string> {
  const body = Buffer.from(JSON.stringify(message));
  const head = Buffer.alloc(5);
  head.writeUInt32BE(body.length, 1);
  const headers = {
    'content-type': 'application/connect+json',
    'e2b-sandbox-id': sandbox.sandboxId,
    'e2b-sandbox-port': '49983',
    'x-access-token': (sandbox as unknown as { envdAccessToken: string }).envdAccessToken,
  };
  const init = { method: 'POST', headers, body: Buffer.concat([head, body]) };
  return await (await fetch(`${node.node.url}/process.Process/${method}`, init)).text();
}
