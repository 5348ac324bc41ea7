import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, beforeEach, test } from 'node:test';
import { VivError } from '@vivarium/sdk';
import { EXEC_ID, endedExec, fakeExec, fakeSandbox, SANDBOX_ID } from '@vivarium/sdk/testing/fake-exec.ts';
import { errorAnswer, FakeServer } from '@vivarium/sdk/testing/fake-server.ts';

const MAIN = join(import.meta.dirname, 'main.ts');
const home = mkdtempSync(join(tmpdir(), 'viv-cli-'));
let server: FakeServer;
before(async () => {
  server = await FakeServer.start();
});
after(async () => {
  await server.close();
  rmSync(home, { recursive: true });
});
beforeEach(() => {
  server.seen.length = 0;
  server.opens.length = 0;
  server.routes.clear();
  server.onOpen = () => {};
});

type Result = { code: number | null; stdout: string; stderr: string };

function start(args: string[], env: Record<string, string> = {}): ChildProcess {
  const clean = {
    PATH: process.env.PATH ?? '',
    HOME: home,
    VIV_STATE_DIR: join(home, 'none'),
    VIV_URL: server.url,
    VIV_API_KEY: 'viv_k',
    ...env,
  };
  return spawn(process.execPath, ['--disable-warning=ExperimentalWarning', MAIN, ...args], { env: clean });
}

async function finish(child: ChildProcess): Promise<Result> {
  const out: Buffer[] = [];
  const err: Buffer[] = [];
  child.stdout!.on('data', (chunk) => out.push(chunk));
  child.stderr!.on('data', (chunk) => err.push(chunk));
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, stdout: Buffer.concat(out).toString(), stderr: Buffer.concat(err).toString() };
}

async function viv(
  args: string[],
  { stdin = '', env = {} }: { stdin?: string; env?: Record<string, string> } = {},
): Promise<Result> {
  const child = start(args, env);
  child.stdin!.on('error', () => {});
  child.stdin!.end(stdin);
  return finish(child);
}

/** A command that writes to both streams and ends with a code. */
function commandEnds(code: number): void {
  server.onOpen = async (req, channel) => {
    if (req.op !== 'exec.start') return channel.opened({});
    channel.opened(fakeExec());
    await channel.data(1, Buffer.from('out\n'));
    await channel.data(2, Buffer.from('err\n'));
    channel.event({ type: 'exit', exec: endedExec(code) });
  };
}

test('help is on stdout, a missing verb on stderr with code 2', async () => {
  assert.match((await viv(['--help'])).stdout, /Sandboxes:\n {2}run/);
  assert.equal((await viv(['help'])).code, 0);
  const nothing = await viv([]);
  assert.equal(nothing.code, 2);
  assert.equal(nothing.stdout, '');
});

test('every verb explains itself', async () => {
  const { VERBS } = await import('./verbs.ts');
  for (const { name, load } of VERBS.filter((verb) => verb.load)) {
    const { code, stdout } = await viv(['help', name]);
    assert.equal(code, 0, name);
    assert.match(stdout, new RegExp(`^Usage: viv ${name}`), name);
    assert.ok(load);
  }
});

test('a mistyped verb is answered with the nearest', async () => {
  const { code, stderr } = await viv(['exce']);
  assert.equal(code, 2);
  assert.equal(stderr, 'viv: no verb `exce`\nhint: Did you mean `viv exec`?\n');
});

test('a file of this machine that is not there is told by its path, and is no bug', async () => {
  const { code, stderr } = await viv(['image', 'import', 'x@1', '--oci', 'nowhere']);
  assert.equal(code, 2);
  assert.equal(stderr, 'viv: nowhere: no such file or directory\nhint: Correct the path and try again.\n');
});

test('a value that can’t be is told with its option', async () => {
  const { code, stderr } = await viv(['eval', 'x', '-k', 'many']);
  assert.equal(code, 2);
  assert.match(stderr, /^viv: --attempts: not a whole number: many\nhint: /);
});

test('a verb that needs a second word shows which there are, and nothing else', async () => {
  const { code, stdout, stderr } = await viv(['job']);
  assert.deepEqual({ code, stdout }, { code: 2, stdout: '' });
  assert.match(stderr, /^Usage: viv job .*regrade/s);
  assert.doesNotMatch(stderr, /viv: /);
});

test('a verb of another tool is answered with ours', async () => {
  assert.match((await viv(['rm', 'x'])).stderr, /no verb `rm`\nhint: Did you mean `viv kill`/);
  assert.match((await viv(['images'])).stderr, /hint: Did you mean `viv image ls`/);
  assert.match((await viv(['constructor'])).stderr, /hint: `viv help` lists the verbs/);
});

test('login takes the key from a pipe', async () => {
  server.routes.set('GET /v1/node', { json: { version: '9' } });
  const env = { VIV_URL: '', VIV_API_KEY: '', XDG_CONFIG_HOME: join(home, 'piped') };
  const { code, stderr } = await viv(['login', server.url], { stdin: 'viv_piped\n', env: { ...env } });
  assert.equal(code, 0, stderr);
  assert.equal(server.seen[0]?.headers.authorization, 'Bearer viv_piped');
  const empty = await viv(['login', server.url], { env });
  assert.match(empty.stderr, /no API key given\nhint: Pipe it in/);
});

test('exec passes the streams through and exits as the command did', async () => {
  commandEnds(42);
  const result = await viv([
    'exec',
    '-e',
    'A=b',
    '-w',
    '/x',
    '-u',
    'root',
    '--timeout',
    '2s',
    SANDBOX_ID,
    '--',
    'cmd',
    '--flag',
  ]);
  assert.deepEqual(result, { code: 42, stdout: 'out\n', stderr: 'err\n' });
  const open = server.opens[0] as { exec: unknown };
  assert.deepEqual(open.exec, { argv: ['cmd', '--flag'], cwd: '/x', env: { A: 'b' }, user: 'root', timeoutMs: 2000 });
});

test('exec connects standard input when asked, with its end', async () => {
  server.onOpen = (_req, channel) => {
    channel.opened(fakeExec());
    channel.onInputEnd = () => {
      void channel.data(1, Buffer.concat(channel.received));
      channel.event({ type: 'exit', exec: endedExec(0) });
    };
  };
  assert.equal((await viv(['exec', '-i', SANDBOX_ID, '--', 'cat'], { stdin: 'through' })).stdout, 'through');
});

test('a terminal inside takes no input from a pipe: asked for both it is refused, else the input has ended', async () => {
  const refused = await viv(['exec', '-it', SANDBOX_ID, '--', 'sh'], { stdin: 'lost' });
  assert.equal(refused.code, 125);
  assert.equal(
    refused.stderr,
    'viv: standard input is no terminal\nhint: Leave out -t to pass it on as it is, or -i to pass nothing on.\n',
  );
  server.onOpen = (_req, channel) => {
    channel.opened(fakeExec());
    channel.onInputEnd = () => channel.event({ type: 'exit', exec: endedExec(channel.received.length) });
  };
  assert.equal((await viv(['exec', '-t', SANDBOX_ID, '--', 'cat'], { stdin: 'not sent' })).code, 0);
});

test('exec --json prints one document with outcome and output', async () => {
  commandEnds(3);
  const { code, stdout } = await viv(['exec', '--json', SANDBOX_ID, '--', 'x']);
  assert.equal(code, 3);
  const document = JSON.parse(stdout);
  assert.deepEqual(
    [document.exitCode, document.stdout, document.stderr, document.outcome],
    [3, 'out\n', 'err\n', { type: 'exited', code: 3 }],
  );
});

test('when viv itself fails exec exits with 125, other verbs with the code of the error', async () => {
  const error = new VivError('sandbox_not_found', `no sandbox ${SANDBOX_ID}`);
  server.onOpen = (_req, channel) => channel.closed(error);
  server.routes.set(`GET /v1/sandboxes/${SANDBOX_ID}`, errorAnswer(error));
  const expected = `viv: no sandbox ${SANDBOX_ID}\nhint: ${error.hint}\n`;
  assert.deepEqual(await viv(['exec', SANDBOX_ID, '--', 'x']), { code: 125, stdout: '', stderr: expected });
  assert.deepEqual(await viv(['inspect', SANDBOX_ID]), { code: 3, stdout: '', stderr: expected });
  const unknown = await viv(['exec', '--bogus', SANDBOX_ID]);
  assert.equal(unknown.code, 125);
  assert.match(unknown.stderr, /^viv: unknown option '--bogus'\nhint: Options of the command itself go after `--`/);
});

test('run holds a lease, ends its sandbox and exits as the command did', async () => {
  commandEnds(5);
  const lease = {
    id: 'l'.repeat(20),
    label: null,
    graceS: 30,
    onExpire: 'kill',
    state: 'held',
    createdAt: '',
    expiresAt: null,
    sandboxes: 0,
  };
  server.routes.set('POST /v1/leases', { json: lease });
  server.routes.set(`DELETE /v1/leases/${lease.id}`, { json: {} });
  server.routes.set('POST /v1/sandboxes', { json: fakeSandbox() });
  server.routes.set(`DELETE /v1/sandboxes/${SANDBOX_ID}`, { json: fakeSandbox({ state: 'ended' }) });
  const result = await viv([
    'run',
    'base/debian@12',
    '--memory',
    '512m',
    '--reach',
    '8000=http://llm:9000',
    '-l',
    'a=b',
    '--',
    'x',
  ]);
  assert.deepEqual(result, { code: 5, stdout: 'out\n', stderr: 'err\n' });
  const create = JSON.parse(server.seen.find((seen) => seen.path === '/v1/sandboxes')!.body.toString());
  assert.deepEqual(create, {
    image: 'base/debian@12',
    reach: [{ port: 8000, url: 'http://llm:9000' }],
    labels: { a: 'b' },
    limits: { memoryMiB: 512 },
    lease: lease.id,
  });
  const ends = server.seen.filter((seen) => seen.method === 'DELETE').map((seen) => seen.path);
  assert.deepEqual(ends, [`/v1/sandboxes/${SANDBOX_ID}`, `/v1/leases/${lease.id}`]);
});

test('run ends its lease when there is no such image', async () => {
  const lease = {
    id: 'l'.repeat(20),
    label: null,
    graceS: 30,
    onExpire: 'kill',
    state: 'held',
    createdAt: '',
    expiresAt: null,
    sandboxes: 0,
  };
  server.onOpen = (_req, channel) => channel.opened(lease);
  server.routes.set('POST /v1/leases', { json: lease });
  server.routes.set('POST /v1/sandboxes', errorAnswer(new VivError('image_not_found', 'no image x@1')));
  server.routes.set(`DELETE /v1/leases/${lease.id}`, { json: {} });
  const { code, stderr } = await viv(['run', 'x@1', '--', 'true']);
  assert.equal(code, 125);
  assert.match(stderr, /^viv: no image x@1\nhint: /);
  assert.equal(server.seen.at(-1)!.path, `/v1/leases/${lease.id}`);
});

test('the first Ctrl-C goes to the command’s group, the second ends the command', async () => {
  const path = `/v1/sandboxes/${SANDBOX_ID}/execs/${EXEC_ID}`;
  const child = start(['exec', SANDBOX_ID, '--', 'x']);
  server.routes.set(`POST ${path}/signal`, (seen) => {
    assert.deepEqual(JSON.parse(seen.body.toString()), { signal: 'INT', scope: 'group' });
    child.kill('SIGINT');
    return { json: {} };
  });
  server.onOpen = async (_req, channel) => {
    server.routes.set(`DELETE ${path}`, () => {
      channel.event({ type: 'exit', exec: endedExec(137, { outcome: { type: 'canceled' } }) });
      return { json: {} };
    });
    channel.opened(fakeExec());
    await channel.data(1, Buffer.from('ready'));
  };
  child.stdout!.once('data', () => child.kill('SIGINT'));
  const { code, stderr } = await finish(child);
  assert.equal(code, 137);
  assert.equal(stderr, 'viv: the command was canceled\n');
});

test('a reader that goes away is no error', async () => {
  const items = Array.from({ length: 20_000 }, (_, i) => fakeSandbox({ id: `s${i}`.padEnd(20, '0') }));
  server.routes.set('GET /v1/sandboxes', { json: { items, nextCursor: null } });
  const child = start(['ls']);
  child.stdout!.once('data', () => child.stdout!.destroy());
  const { code, stderr } = await finish(child);
  assert.deepEqual({ code, stderr }, { code: 0, stderr: '' });
});

test('kill goes on after a failure and exits with its code', async () => {
  const other = 'b'.repeat(20);
  server.routes.set(`DELETE /v1/sandboxes/${SANDBOX_ID}`, errorAnswer(new VivError('sandbox_not_found', 'gone')));
  server.routes.set(`DELETE /v1/sandboxes/${other}`, { json: fakeSandbox({ id: other, state: 'ended' }) });
  const { code, stdout, stderr } = await viv(['kill', SANDBOX_ID, other]);
  assert.equal(code, 3);
  assert.equal(stdout, `${other}\n`);
  assert.match(stderr, /^viv: gone/);
});

test('flags win over the environment, that over the login, that over the local node', async () => {
  server.routes.set('GET /v1/sandboxes', { json: { items: [], nextCursor: null } });
  server.routes.set('GET /v1/node', { json: { version: '9' } });
  const state = join(home, 'state');
  mkdirSync(join(state, 'keys'), { recursive: true });
  writeFileSync(join(state, 'keys/first.key'), 'viv_local\n');
  const key = async (args: string[], env: Record<string, string>) => {
    server.seen.length = 0;
    const { stderr } = await viv(args, { env: { VIV_STATE_DIR: state, ...env } });
    return server.seen[0]?.headers.authorization?.slice(7) ?? stderr;
  };
  const login = await viv(['login', server.url, '--key', 'viv_login'], { env: { VIV_URL: '', VIV_API_KEY: '' } });
  assert.equal(login.code, 0, login.stderr);
  const file = join(home, '.config/vivarium/config.json');
  assert.equal(statSync(file).mode & 0o777, 0o600);
  assert.equal(
    await key(['--api-key', 'viv_flag', 'ls', '--url', server.url], {
      VIV_URL: 'http://127.0.0.1:1',
      VIV_API_KEY: 'viv_env',
    }),
    'viv_flag',
  );
  assert.equal(await key(['ls'], { VIV_API_KEY: 'viv_env' }), 'viv_env');
  assert.equal(await key(['ls'], { VIV_URL: '', VIV_API_KEY: '' }), 'viv_login');
  assert.equal((await viv(['logout'])).stderr, 'viv: logged out\n');
  // The local node's key goes to the local node only, never to a server that the environment names.
  assert.equal(await key(['ls'], { VIV_API_KEY: '' }), 'viv: no sandboxes\n'.slice(5));
});

test('completion scripts are valid for their shell', async () => {
  const { stdout } = await viv(['completion', 'bash']);
  const bash = spawn('bash', ['-n']);
  bash.stdin.end(stdout);
  assert.equal((await finish(bash)).code, 0);
  assert.match(stdout, /exec\) words='.*--timeout.*ids=1/);
  assert.match((await viv(['completion', 'fish'])).stdout, /complete -c viv -n __fish_use_subcommand -a run/);
});
