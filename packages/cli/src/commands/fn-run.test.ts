import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, beforeEach, test } from 'node:test';
import { endedExec } from '@vivarium/sdk/testing/fake-exec.ts';
import { FakeServer } from '@vivarium/sdk/testing/fake-server.ts';

const MAIN = join(import.meta.dirname, '../main.ts');
const home = mkdtempSync(join(tmpdir(), 'viv-cli-fn-'));
const b64 = (text: string) => Buffer.from(text).toString('base64');
let server: FakeServer;
before(async () => {
  server = await FakeServer.start();
});
beforeEach(() => {
  server.seen.length = 0;
  server.routes.clear();
  server.routes.set('GET /v1/fn/languages', { json: { items: LANGUAGES } });
});
after(async () => {
  await server.close();
  rmSync(home, { recursive: true });
});

const language = (name: string, file: string, available: boolean) => ({ name, aliases: ['x'], file, available });
const LANGUAGES = [
  { ...language('pytest', 'test_main.py', false), compile: null, run: ['pytest'] },
  { ...language('python', 'main.py', true), compile: null, run: ['python3', 'main.py'] },
];
const step = (code: number, out: string, err = '') => ({
  ...endedExec(code),
  stdoutB64: b64(out),
  stderrB64: b64(err),
});
const durations = { waitMs: 0, filesInMs: 0, compileMs: 0, runMs: 0, filesOutMs: 0, totalMs: 0 };
const answer = (change: object = {}) => ({
  ...step(3, 'out\n', 'err\n'),
  ...{ image: 'a@1', session: null, cold: false, stage: 'run', compile: null, files: [], filesLeft: [], durations },
  ...change,
});

/** `viv fn …` in the scratch directory. */
async function fn(args: string[], stdin = '') {
  const env = { PATH: process.env.PATH ?? '', HOME: home, VIV_URL: server.url, VIV_API_KEY: 'viv_k' };
  const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', MAIN, 'fn', ...args], {
    env,
    cwd: home,
  });
  const [out, err]: Buffer[][] = [[], []];
  child.stdout.on('data', (chunk) => out!.push(chunk));
  child.stderr.on('data', (chunk) => err!.push(chunk));
  child.stdin.on('error', () => {});
  child.stdin.end(stdin);
  const [code] = await once(child, 'close');
  const sent = server.seen.find(({ method }) => method === 'POST')?.body.toString();
  return {
    code,
    out: Buffer.concat(out!).toString(),
    err: Buffer.concat(err!).toString(),
    sent: sent && JSON.parse(sent),
  };
}

test('a file is run as its name says, with arguments, input and files both ways', async () => {
  const files = [{ path: 'made.txt', contentB64: b64('made'), sizeBytes: 4, mode: 0o644 }];
  const filesLeft = [{ path: 'big', reason: 'too large' }];
  server.routes.set('POST /v1/fn', { json: answer({ files, filesLeft }) });
  writeFileSync(join(home, 'solve.py'), 'print(1)');
  const args = ['--in', 'solve.py:data/x', '--out', 'made.txt:here.txt', '--out', 'big', '-i', '--memory', '64m'];
  const got = await fn(['run', 'a@1', 'solve.py', 'one', ...args, '--timeout', '2s', '--session', 's'], 'input');
  assert.deepEqual([got.code, got.out], [3, 'out\n']);
  assert.equal(got.err, 'err\nviv: big did not come (too large)\n');
  assert.deepEqual(got.sent, {
    ...{ image: 'a@1', language: 'python', code: 'print(1)', args: ['one'], limits: { memoryMiB: 64 } },
    ...{ filesOut: ['made.txt', 'big'], timeoutMs: 2000, session: 's', stdin: b64('input') },
    files: [{ path: 'data/x', contentB64: b64('print(1)') }],
  });
  assert.equal(readFileSync(join(home, 'here.txt'), 'utf8'), 'made');
  assert.equal(existsSync(join(home, 'big')), false);
});

test('a program stands after two dashes; code comes from standard input or an option', async () => {
  server.routes.set('POST /v1/fn', { json: answer() });
  assert.deepEqual((await fn(['run', 'a@1', '--', 'python3', '-c', 'x'])).sent.argv, ['python3', '-c', 'x']);
  server.seen.length = 0;
  const piped = (await fn(['run', 'a@1', '-l', 'c', '-'], 'int main;')).sent;
  assert.deepEqual([piped.language, piped.code, piped.args], ['c', 'int main;', []]);
  server.seen.length = 0;
  const given = (await fn(['run', 'a@1', '-l', 'sh', '-c', 'echo "$@"', '--', '-n'])).sent;
  assert.deepEqual([given.language, given.code, given.args], ['sh', 'echo "$@"', ['-n']]);
});

test('a compiler that fails is shown on standard error', async () => {
  const compile = step(1, '', 'main.c:1: error\n');
  server.routes.set('POST /v1/fn', { json: answer({ ...compile, stage: 'compile', compile }) });
  const got = await fn(['run', 'a@1', '-l', 'c', '-c', 'x']);
  assert.deepEqual([got.code, got.out, got.err], [1, '', 'main.c:1: error\n']);
});

test('what is missing is said, with 125 as the exit code', async () => {
  writeFileSync(join(home, 'x.klingon'), 'x');
  for (const [args, message] of [
    [['a@1'], /nothing to run/],
    [['a@1', '-'], /which language/],
    [['a@1', 'x.klingon'], /which language is x\.klingon in/],
    [['a@1', '-c', 'x'], /which language/],
    [['a@1', '-', '-i', '-l', 'c'], /both the code and what it reads/],
    [['a@1', 'none.py'], /none\.py: no such file/],
    [['a@1', '--nonsense'], /--nonsense/],
  ] as const) {
    const got = await fn(['run', ...args]);
    assert.equal(got.code, 125, got.err);
    assert.match(got.err, message);
  }
});

test('warm, ls, languages, sessions and end', async () => {
  const limits = { memoryMiB: 64, cpus: 1 };
  const pool = { image: 'a@1', key: 'k', limits, ready: 2, busy: 1, preparing: 0, wanted: 2, calls: 9, coldCalls: 1 };
  server.routes.set('POST /v1/fn/warm', { json: pool });
  const warmed = await fn(['warm', 'a@1', '-n', '2']);
  assert.deepEqual([warmed.out, warmed.sent], ['2 ready\n', { image: 'a@1', count: 2 }]);
  server.routes.set('GET /v1/fn/pools', { json: { items: [pool] } });
  assert.match((await fn(['ls'])).out, /^IMAGE .*\na@1 +64 MiB, 1 CPUs +2 +1 +0 +2 +9 +1\n$/);
  assert.match((await fn(['languages', 'a@1'])).out, /^LANGUAGE .*\npython +x +python3 main\.py\n$/);
  const session = { name: 's', image: 'a@1', sandbox: 'b', running: null, lastUsedAt: new Date().toISOString() };
  server.routes.set('GET /v1/fn/sessions', { json: { items: [session] } });
  assert.match((await fn(['sessions'])).out, /\ns +a@1 +b/);
  server.routes.set('DELETE /v1/fn/sessions/s', { status: 204 });
  assert.equal((await fn(['end', 's'])).out, 's\n');
});
