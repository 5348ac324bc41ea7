/** The control plane and the ports of sandboxes with the real client: what methods.test.ts has no single value for. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { request } from 'node:http';
import { after, before, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { Sandbox } from 'e2b';
import { type E2bNode, startE2bNode } from '../../harness/e2b.ts';
import { runViv } from '../../harness/node.ts';

let at: E2bNode;
before(async () => {
  at = await startE2bNode();
});
after(() => at.close());

/** A request to a port of a sandbox by headers. */
function ask(
  sandbox: Sandbox,
  port: number,
  more: Record<string, string> = {},
): Promise<{ status: number; text: string }> {
  const headers = { 'e2b-sandbox-id': sandbox.sandboxId, 'e2b-sandbox-port': String(port), ...more };
  return new Promise((resolve, reject) => {
    request(`${at.node.url}/`, { headers }, (res) => {
      let text = '';
      res.on('data', (chunk) => (text += chunk)).on('end', () => resolve({ status: res.statusCode!, text }));
    })
      .on('error', reject)
      .end();
  });
}

async function until(check: () => Promise<boolean>): Promise<void> {
  for (let tries = 0; !(await check()); tries++) {
    assert.ok(tries < 200, 'in vain');
    await delay(100);
  }
}

const ECHO = `
import http.server, ssl, sys
class Echo(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        body = str(self.headers).encode()
        self.send_response(200)
        self.send_header('content-length', str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def log_message(self, *args): pass
server = http.server.ThreadingHTTPServer(('127.0.0.1', int(sys.argv[1])), Echo)
if len(sys.argv) > 2:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain('/tmp/c.pem', '/tmp/k.pem')
    server.socket = context.wrap_socket(server.socket, server_side=True)
server.serve_forever()
`;

async function withEcho(sandbox: Sandbox, ...argv: string[]): Promise<void> {
  await sandbox.files.write('/tmp/echo.py', ECHO);
  await sandbox.commands.run(`python3 /tmp/echo.py ${argv.join(' ')}`, { background: true, timeoutMs: 0 });
}

test('a port is closed, then open to everybody, then gone with its sandbox', async () => {
  const sandbox = await at.create();
  const closed = await ask(sandbox, 8000);
  assert.equal(closed.status, 502);
  assert.equal(JSON.parse(closed.text).message, 'The sandbox is running but port is not open');
  await withEcho(sandbox, '8000');
  await until(async () => (await ask(sandbox, 8000)).status === 200);
  await sandbox.pause();
  assert.equal((await ask(sandbox, 8000)).status, 502);
  await sandbox.connect();
  assert.equal((await ask(sandbox, 8000)).status, 200, 'the program lived on');
  await sandbox.kill();
  assert.deepEqual(JSON.parse((await ask(sandbox, 8000)).text).code, 502);
});

test('ports that are not public, the masked host and a program that speaks TLS', async () => {
  const sandbox = await at.create({
    // biome-ignore lint/suspicious/noTemplateCurlyInString: that is how clients write it
    network: { allowPublicTraffic: false, maskRequestHost: 'masked.example:${PORT}', httpsPorts: [8443] },
  });
  const token = { 'e2b-traffic-access-token': sandbox.trafficAccessToken! };
  await sandbox.commands.run(
    'openssl req -x509 -newkey rsa:2048 -keyout /tmp/k.pem -out /tmp/c.pem -days 1 -nodes -subj /CN=localhost',
  );
  await withEcho(sandbox, '8000');
  await withEcho(sandbox, '8443', 'tls');
  await until(async () => (await ask(sandbox, 8000, token)).status === 200);
  await until(async () => (await ask(sandbox, 8443, token)).status === 200);
  assert.equal((await ask(sandbox, 8000)).status, 403);
  const { text } = await ask(sandbox, 8000, token);
  assert.match(text, /^host: masked\.example:8000$/im);
  assert.doesNotMatch(text, /traffic-access-token/i);
  assert.deepEqual((await sandbox.getInfo()).network?.httpsPorts, [8443]);
  await sandbox.kill();
});

test('time-outs: set to any time, by a connect only extended', async () => {
  const sandbox = await at.create({ timeoutMs: 300_000 });
  const { endAt } = await sandbox.getInfo();
  await sandbox.connect({ timeoutMs: 10_000 });
  assert.equal((await sandbox.getInfo()).endAt.getTime(), endAt.getTime());
  await sandbox.connect({ timeoutMs: 600_000 });
  assert.ok((await sandbox.getInfo()).endAt > endAt);
  await sandbox.setTimeout(60_000);
  assert.ok((await sandbox.getInfo()).endAt < endAt);
  await sandbox.setTimeout(1_000);
  await until(async () => !(await sandbox.isRunning()));
  assert.equal(await sandbox.kill(), false);
});

test('a sandbox that is paused by its time-out is woken by a request, by a command and by a file', async () => {
  const sandbox = await at.create({ timeoutMs: 2_000, lifecycle: { onTimeout: 'pause', autoResume: true } });
  await sandbox.files.write('kept.txt', 'kept');
  const paused = () => until(async () => (await Sandbox.getInfo(sandbox.sandboxId)).state === 'paused');
  for (const call of [
    async () => assert.equal((await ask(sandbox, 8000)).status, 502),
    async () => assert.equal((await sandbox.commands.run('echo up')).stdout, 'up\n'),
    async () => assert.equal(await sandbox.files.read('kept.txt'), 'kept'),
  ]) {
    await paused();
    await call();
    assert.equal((await Sandbox.getInfo(sandbox.sandboxId)).state, 'running');
  }
  await sandbox.kill();
});

test('a killed sandbox ends the streams of its commands at once', async () => {
  const sandbox = await at.create();
  const command = await sandbox.commands.run('sleep 600', { background: true, timeoutMs: 0 });
  const watch = await sandbox.files.watchDir('/home/user', () => {}, { timeoutMs: 0 });
  await sandbox.kill();
  await assert.rejects(command.wait(), /killed or reached its end of life/);
  await watch.stop();
});

test('metadata of any characters finds its sandbox', async () => {
  const metadata = { 'a b/ü!': 'c&d=é 100% +%41', plain: 'x' };
  const sandbox = await at.create({ metadata });
  const found = await Sandbox.list({ query: { metadata } }).nextItems();
  assert.deepEqual(
    found.map(({ sandboxId }) => sandboxId),
    [sandbox.sandboxId],
  );
  assert.deepEqual(found[0]!.metadata, metadata);
  assert.deepEqual(await Sandbox.list({ query: { metadata: { ...metadata, plain: 'y' } } }).nextItems(), []);
  await sandbox.kill();
});

test('a snapshot that is taken again under its name is the same one with newer files; tags keep the older', async () => {
  const sandbox = await at.create();
  await sandbox.files.write('state.txt', 'one');
  const one = await sandbox.createSnapshot({ name: 'work:one' });
  await sandbox.files.write('state.txt', 'two');
  const two = await sandbox.createSnapshot({ name: 'work' });
  await sandbox.files.write('state.txt', 'three');
  const three = await sandbox.createSnapshot({ name: 'work' });
  assert.equal(two.snapshotId, three.snapshotId);
  assert.equal(one.snapshotId, `${two.snapshotId}:one`);
  for (const [template, expected] of [
    [one.snapshotId, 'one'],
    ['work:one', 'one'],
    [three.snapshotId, 'three'],
    ['work', 'three'],
  ] as const) {
    const copy = await at.create({ template });
    assert.equal(await copy.files.read('state.txt'), expected, template);
    assert.equal(await copy.kill(), true);
  }
  assert.equal(await Sandbox.deleteSnapshot(three.snapshotId), true);
  assert.equal(await Sandbox.deleteSnapshot(one.snapshotId), false);
  await assert.rejects(at.create({ template: 'work' }), /404: template 'work' not found/);
  await sandbox.kill();
});

test('samples of use lie in the time that was asked for', async () => {
  const start = new Date();
  const sandbox = await at.create();
  const now = await sandbox.getMetrics();
  assert.ok(now.length > 0);
  assert.equal(now[0]!.cpuCount, 2);
  assert.ok(now[0]!.memTotal > 0 && now[0]!.diskTotal > 0 && now[0]!.memUsed > 0);
  const before = { start: new Date(start.getTime() - 3_600_000), end: new Date(start.getTime() - 1_800_000) };
  assert.deepEqual(await sandbox.getMetrics(before), []);
  await sandbox.kill();
});

test('viv e2b env is all that a client needs, and a key of its own has the form that clients insist on', async () => {
  const { node } = at;
  const { stdout } = runViv(node, ['e2b', 'env']);
  const script =
    "import { Sandbox } from 'e2b'; const s = await Sandbox.create('base'); console.log(await s.isRunning(), await s.kill())";
  const run = `eval "$1"; exec "$2" --input-type=module -e "$3"`;
  const env = { PATH: process.env.PATH };
  const output = execFileSync('sh', ['-c', run, 'sh', stdout, process.execPath, script], { env, encoding: 'utf8' });
  assert.equal(output, 'true true\n');
  const key = runViv(node, ['key', 'create', 'of-e2b', '--e2b']).stdout.trim();
  assert.match(key, /^e2b_[0-9a-f]{40}$/);
  const sandbox = await at.create({ apiKey: key });
  assert.equal(await Sandbox.kill(sandbox.sandboxId, { apiKey: key }), true);
});
