import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ExecStart } from '@vivarium/protocol';
import { type Served, served } from '../../testing/served.ts';
import { processMemory } from './process-memory.ts';

type Event = { flags: number; json: { event?: Record<string, object>; error?: { code: string; message: string } } };

/** A sandbox of a fake node, and calls to its envd. */
async function envd() {
  const server = await served();
  const { id, token } = await server.create();
  const base = { 'e2b-sandbox-id': id, 'e2b-sandbox-port': '49983', 'x-access-token': token };
  const post = (method: string, body: Uint8Array | string, headers: Record<string, string>) =>
    fetch(`${server.url}/process.Process/${method}`, {
      method: 'POST',
      headers: { ...base, ...headers },
      body: body as BodyInit,
    });
  return {
    server,
    id,
    async unary(method: string, message: object) {
      const response = await post(method, JSON.stringify(message), { 'content-type': 'application/json' });
      return { status: response.status, json: (await response.json()) as Record<string, never> };
    },
    async stream(method: string, message: object, headers: Record<string, string> = {}) {
      const body = Buffer.from(JSON.stringify(message));
      const head = Buffer.alloc(5);
      head.writeUInt32BE(body.length, 1);
      const type = { 'content-type': 'application/connect+json' };
      const response = await post(method, Buffer.concat([head, body]), { ...type, ...headers });
      return frames(Buffer.from(await response.arrayBuffer()));
    },
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

function frames(body: Buffer): Event[] {
  const all: Event[] = [];
  for (let at = 0; at < body.length; ) {
    const end = at + 5 + body.readUInt32BE(at + 1);
    all.push({ flags: body[at]!, json: JSON.parse(body.subarray(at + 5, end).toString()) });
    at = end;
  }
  return all;
}

const program = (cmd: string, ...args: string[]) => ({ process: { cmd, args }, stdin: false });
const row = ({ edge }: Served) => [...edge.execs.rows.values()].at(-1)!;

test('a command is started as it is asked for, and told of from pid to end', async () => {
  await using fake = await envd();
  const got = await fake.stream('Start', program('echo', 'héllo'), {
    authorization: `Basic ${Buffer.from('alice:').toString('base64')}`,
  });
  assert.deepEqual(got, [
    { flags: 0, json: { event: { start: { pid: 7 } } } },
    { flags: 0, json: { event: { data: { stdout: Buffer.from('héllo\n').toString('base64') } } } },
    { flags: 0, json: { event: { end: { exitCode: 0, exited: true, status: 'exit status 0' } } } },
    { flags: 2, json: {} },
  ]);
  const { argv, user, cwd } = row(fake.server);
  assert.deepEqual({ argv, user, cwd }, { argv: ['echo', 'héllo'], user: 'alice', cwd: null });
});

test('directories are those of the user, whatever form they have', async () => {
  await using fake = await envd();
  const forms = { '~': '.', '~/': '.', '~/a b': 'a b', 'a/b': 'a/b', '/x': '/x', '': null };
  for (const [cwd, expected] of Object.entries(forms)) {
    await fake.stream('Start', { process: { cmd: 'true', cwd } });
    assert.equal(row(fake.server).cwd, expected, cwd);
  }
  const other = await fake.stream('Start', { process: { cmd: 'true', cwd: '~root' } });
  assert.equal(other[0]!.json.error?.code, 'invalid_argument');
});

test('a terminal has the size that is asked for, or a usual one', async () => {
  await using fake = await envd();
  const got = await fake.stream('Start', { ...program('echo', 'x'), pty: { size: { cols: 100, rows: '30' } } });
  assert.ok('pty' in got[1]!.json.event!.data!);
  assert.equal(row(fake.server).pty, true);
  assert.equal((await fake.unary('Update', { process: { pid: 7 }, pty: { size: {} } })).json.code, 'not_found');
});

test('a process is found by pid and by tag, and both are listed while it runs', async () => {
  await using fake = await envd();
  const running = fake.stream('Start', {
    process: { cmd: 'sleep', envs: { A: 'b' }, cwd: '/tmp' },
    pty: {},
    tag: 'a tag',
  });
  const listed = async () => (await fake.unary('List', {})).json.processes as unknown as object[];
  while ((await listed()).length === 0);
  assert.deepEqual(await listed(), [
    { config: { cmd: 'sleep', args: [], envs: { A: 'b' }, cwd: '/tmp' }, pid: 7, tag: 'a tag' },
  ]);
  assert.equal(
    (await fake.unary('Update', { process: { tag: 'a tag' }, pty: { size: { cols: 9, rows: 8 } } })).status,
    200,
  );
  assert.deepEqual(fake.server.edge.execs.sizes, [{ cols: 9, rows: 8 }]);
  const none = await fake.unary('SendSignal', { process: { tag: 'another' }, signal: 9 });
  assert.deepEqual(none, { status: 404, json: { code: 'not_found', message: 'process with tag another not found' } });
  assert.equal((await fake.unary('SendSignal', { process: { pid: '7' }, signal: 'SIGNAL_SIGKILL' })).status, 200);
  assert.deepEqual(fake.server.edge.execs.signals, [{ signal: 'KILL', scope: 'tree' }]);
  const end = (await running).at(-2)!.json.event!.end;
  assert.deepEqual(end, { exitCode: -1, exited: false, status: 'signal: terminated', error: 'signal: terminated' });
  assert.deepEqual(await listed(), []);
});

test('only the two signals of the protocol are sent', async () => {
  await using fake = await envd();
  for (const signal of [undefined, 0, 2, 'SIGNAL_UNSPECIFIED', 'SIGKILL'])
    assert.equal((await fake.unary('SendSignal', { process: { pid: 7 }, signal })).json.code, 'unimplemented');
});

test('a request that names no process, or two, is told so', async () => {
  await using fake = await envd();
  const codes = [];
  for (const process of [{}, { pid: 7, tag: 'x' }, { pid: -1 }, { pid: 'x' }, { pid: 7 }])
    codes.push((await fake.unary('CloseStdin', { process })).json.code);
  assert.deepEqual(codes, ['unimplemented', 'invalid_argument', 'invalid_argument', 'invalid_argument', 'not_found']);
  assert.equal((await fake.stream('Connect', { process: { pid: 7 } }))[0]!.json.error?.code, 'not_found');
  assert.equal((await fake.stream('Start', {}))[0]!.json.error?.code, 'invalid_argument');
});

test('an ended command is told of again from its beginning', async () => {
  await using fake = await envd();
  await fake.stream('Start', { ...program('echo', 'late'), tag: 't' });
  for (const process of [{ pid: 7 }, { tag: 't' }]) {
    const got = await fake.stream('Connect', { process });
    assert.deepEqual(
      got.slice(0, 2).map(({ json }) => json.event),
      [{ start: { pid: 7 } }, { data: { stdout: Buffer.from('late\n').toString('base64') } }],
    );
  }
});

test('names and values that can be no variables are refused', async () => {
  await using fake = await envd();
  for (const envs of [{ 'A=B': '1' }, { '': '1' }, { A: 'x\0y' }])
    assert.equal(
      (await fake.stream('Start', { process: { cmd: 'true', envs } }))[0]!.json.error?.code,
      'invalid_argument',
    );
  await fake.stream('Start', { process: { cmd: 'true', envs: { 'a.b-c': '1' } } });
  assert.deepEqual(row(fake.server).argv, ['true']);
});

test('what is noted of a command that the native API started is forgotten with it', async () => {
  await using fake = await envd();
  const { execs } = fake.server.edge;
  const options = { stdin: true, onData: () => {}, onGap: () => {} };
  const { exec } = await execs.start(fake.id, ExecStart.parse({ argv: ['sleep'] }), options);
  assert.equal((await fake.unary('CloseStdin', { process: { pid: 7 } })).status, 200);
  assert.deepEqual([processMemory.get(exec.id)?.stdinClosed, processMemory.get(exec.id)?.ended], [true, false]);
  await fake.unary('SendSignal', { process: { pid: 7 }, signal: 9 });
  assert.equal(processMemory.get(exec.id)?.ended, true);
});
