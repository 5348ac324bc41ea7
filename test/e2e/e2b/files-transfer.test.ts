/** /files of envd as HTTP: large and broken transfers, forms, ranges, conditions, signatures. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { NotEnoughSpaceError, type Sandbox } from 'e2b';
import { type E2bNode, startE2bNode } from '../../harness/e2b.ts';

let node: E2bNode;
let sandbox: Sandbox;
const HOME = '/home/user';

before(async () => {
  node = await startE2bNode();
  sandbox = await node.create();
});
after(() => node?.close());

const run = async (command: string) => (await sandbox.commands.run(command, { user: 'user' })).stdout;

/** Resident memory of the server. */
function residentMiB(): number {
  const status = readFileSync(`/proc/${node.node.serverPid()}/status`, 'utf8');
  return Number(/VmRSS:\s+(\d+)/.exec(status)![1]) / 1024;
}

type Ask = {
  method?: string;
  headers?: Record<string, string>;
  body?: string | Uint8Array | FormData;
  token?: boolean;
};

/** A request for /files of the sandbox. */
async function files(query: Record<string, string>, { method = 'GET', headers = {}, body, token = true }: Ask = {}) {
  const response = await fetch(`${node.connection.sandboxUrl}/files?${new URLSearchParams(query)}`, {
    method,
    headers: {
      'e2b-sandbox-id': sandbox.sandboxId,
      'e2b-sandbox-port': '49983',
      'accept-encoding': 'identity',
      ...(token && { 'x-access-token': tokenOf(sandbox) }),
      ...headers,
    },
    ...(body !== undefined && { body: body as BodyInit }),
  });
  const bytes = Buffer.from(await response.arrayBuffer());
  return { status: response.status, headers: response.headers, text: bytes.toString() };
}

const tokenOf = (one: Sandbox) => (one as unknown as { envdAccessToken: string }).envdAccessToken;
const post = (
  query: Record<string, string>,
  body: string | Uint8Array | FormData,
  headers: Record<string, string> = {},
) => files(query, { method: 'POST', body, headers });
const OCTETS = { 'content-type': 'application/octet-stream' };

test('ranges are answered with the part that was asked for', async () => {
  await sandbox.files.write('range.txt', 'Hello, world!');
  const part = async (range: string) => files({ path: 'range.txt' }, { headers: { range } });
  const { status, headers, text } = await part('bytes=7-11');
  assert.deepEqual([status, text, headers.get('content-range')], [206, 'world', 'bytes 7-11/13']);
  assert.equal((await part('bytes=7-')).text, 'world!');
  assert.equal((await part('bytes=-6')).text, 'world!');
  assert.equal((await part('bytes=7-999')).text, 'world!');
  const beyond = await part('bytes=13-');
  assert.deepEqual([beyond.status, beyond.headers.get('content-range')], [416, 'bytes */13']);
  assert.equal(JSON.parse(beyond.text).code, 416);
  assert.equal((await part('bytes=nonsense')).status, 200);
});

test('a client that has the file is told so', async () => {
  const { headers } = await files({ path: 'range.txt' });
  const modified = headers.get('last-modified')!;
  const ask = async (name: string, value: string) =>
    (await files({ path: 'range.txt' }, { headers: { [name]: value } })).status;
  assert.equal(await ask('if-modified-since', modified), 304);
  assert.equal(await ask('if-modified-since', new Date(0).toUTCString()), 200);
  assert.equal(await ask('if-unmodified-since', new Date(0).toUTCString()), 412);
  assert.equal(await ask('if-none-match', '*'), 304);
  const since = { range: 'bytes=0-4', 'if-range': modified };
  assert.equal((await files({ path: 'range.txt' }, { headers: since })).status, 206);
  assert.equal(
    (await files({ path: 'range.txt' }, { headers: { ...since, 'if-range': new Date(0).toUTCString() } })).status,
    200,
  );
});

test('HEAD tells size and type; an empty file says that it is', async () => {
  const head = await files({ path: 'range.txt' }, { method: 'HEAD' });
  assert.deepEqual([head.status, head.headers.get('content-length'), head.text], [200, '13', '']);
  assert.equal(head.headers.get('content-type'), 'text/plain; charset=utf-8');
  await run('touch nothing');
  assert.equal((await files({ path: 'nothing' })).headers.get('content-length'), '0');
});

test('gzip comes where it is all that the client names', async () => {
  const asked = async (coding: string, extra = {}) =>
    files({ path: 'range.txt' }, { headers: { 'accept-encoding': coding, ...extra } });
  const zipped = await asked('gzip');
  // fetch inflates by itself.
  assert.deepEqual([zipped.headers.get('content-encoding'), zipped.text], ['gzip', 'Hello, world!']);
  assert.equal((await asked('gzip, deflate, br')).headers.get('content-encoding'), null);
  assert.equal((await asked('gzip', { range: 'bytes=0-4' })).headers.get('content-encoding'), null);
});

test('a form may hold several files, one without a name where the query has it, and other fields', async () => {
  const form = new FormData();
  form.append('comment', 'ignored');
  form.append('file', new Blob(['first']), 'form/one.txt');
  form.append('file', new Blob(['second']), `${HOME}/form/two.txt`);
  const answer = await post({}, form);
  assert.deepEqual(JSON.parse(answer.text), [
    { name: 'one.txt', path: `${HOME}/form/one.txt`, type: 'file' },
    { name: 'two.txt', path: `${HOME}/form/two.txt`, type: 'file' },
  ]);
  assert.equal(await run('cat form/one.txt form/two.txt'), 'firstsecond');
  const bare = new FormData();
  bare.append('file', 'as text');
  assert.equal((await post({ path: 'bare.txt' }, bare)).status, 200);
  assert.equal(await run('cat bare.txt'), 'as text');
  const nameless = await post({}, bare);
  assert.deepEqual([nameless.status, JSON.parse(nameless.text).code], [400, 400]);
});

test('the same path twice in a form is refused, and the first file stays', async () => {
  const form = new FormData();
  form.append('file', new Blob(['first']), 'twice.txt');
  form.append('file', new Blob(['second']), './twice.txt');
  const answer = await post({}, form);
  assert.equal(answer.status, 400);
  assert.match(answer.text, /multiple files to the same path/);
  assert.equal(await run('cat twice.txt'), 'first');
});

test('bodies that are not what they say are refused and leave the old file', async () => {
  await sandbox.files.write('kept.txt', 'old');
  const form = `--b\r\nContent-Disposition: form-data; name="file"; filename="kept.txt"\r\n\r\ncut off`;
  const multipart = { 'content-type': 'multipart/form-data; boundary=b' };
  const gzip = { ...OCTETS, 'content-encoding': 'gzip' };
  const zipped = gzipSync(Buffer.alloc(100_000, 'z'));
  const cases: [string, Awaited<ReturnType<typeof post>>][] = [
    ['cut form', await post({}, form, multipart)],
    ['no boundary', await post({}, form, { 'content-type': 'multipart/form-data' })],
    ['no gzip', await post({ path: 'kept.txt' }, 'plain', gzip)],
    ['cut gzip', await post({ path: 'kept.txt' }, zipped.subarray(0, -20), gzip)],
    ['unknown coding', await post({ path: 'kept.txt' }, 'x', { ...OCTETS, 'content-encoding': 'br' })],
    ['no path', await post({}, 'x', OCTETS)],
    ['json', await post({ path: 'kept.txt' }, '{}', { 'content-type': 'application/json' })],
    ['metadata', await post({ path: 'kept.txt' }, 'x', { ...OCTETS, 'x-metadata-a': 'ü' })],
  ];
  for (const [what, { status, text }] of cases)
    assert.deepEqual([what, status, JSON.parse(text).code], [what, 400, 400]);
  assert.equal(await run('cat kept.txt; ls -A | grep -c viv- || true'), 'old0\n');
  assert.equal((await post({ path: 'kept.txt' }, zipped, gzip)).status, 200);
  assert.equal(await run('wc -c <kept.txt'), '100000\n');
});

test('signed URLs work without a token, for their path, user and operation, until they expire', async () => {
  await sandbox.files.write('signed.txt', 'hello');
  const expiring = { useSignatureExpiration: 1000 };
  assert.equal(await (await fetch(await sandbox.downloadUrl('signed.txt', expiring))).text(), 'hello');
  assert.equal(await (await fetch(await sandbox.downloadUrl('signed.txt'))).text(), 'hello');
  await sandbox.files.write('signed.txt', 'of root', { user: 'root' });
  assert.equal(
    await (await fetch(await sandbox.downloadUrl('signed.txt', { user: 'root', ...expiring }))).text(),
    'of root',
  );
  const form = new FormData();
  form.append('file', 'uploaded');
  const up = await fetch(await sandbox.uploadUrl('up.txt', expiring), { method: 'POST', body: form });
  assert.deepEqual(await up.json(), [{ name: 'up.txt', path: `${HOME}/up.txt`, type: 'file' }]);
  const late = await fetch(await sandbox.downloadUrl('signed.txt', { useSignatureExpiration: -10_000 }));
  assert.deepEqual([late.status, await late.json()], [401, { code: 401, message: 'signature is already expired' }]);
  const lateUp = await fetch(await sandbox.uploadUrl('up.txt', { useSignatureExpiration: -1 }), {
    method: 'POST',
    body: form,
  });
  assert.deepEqual([lateUp.status, (await lateUp.json()).message], [401, 'signature is already expired']);
});

test('a signature for another path, user, time or operation is worth nothing', async () => {
  const url = new URL(await sandbox.downloadUrl('signed.txt', { useSignatureExpiration: 1000 }));
  for (const [name, value] of [
    ['path', 'kept.txt'],
    ['username', 'root'],
    ['signature_expiration', '9999999999'],
    ['signature', 'v1_x'],
  ] as const) {
    const other = new URL(url);
    other.searchParams.set(name, value);
    assert.equal((await fetch(other)).status, 401, name);
    const named = await files(Object.fromEntries(other.searchParams), { token: false });
    assert.deepEqual([named.status, JSON.parse(named.text)], [401, { code: 401, message: 'invalid signature' }], name);
  }
  const body = new FormData();
  assert.equal((await fetch(url, { method: 'POST', body })).status, 401);
  const missing = await files({ path: 'signed.txt' }, { token: false });
  assert.deepEqual([missing.status, JSON.parse(missing.text).message], [401, 'missing signature query parameter']);
  const wrong = await files({ path: 'signed.txt' }, { headers: { 'x-access-token': 'wrong' } });
  assert.deepEqual([wrong.status, JSON.parse(wrong.text).code], [401, 401]);
});

test('a full disk is NotEnoughSpaceError and leaves the old file', async () => {
  const full = await node.create();
  await full.files.write('precious.txt', 'old');
  await full.commands.run('for s in 1000 100 10; do while fallocate -l $[s]M $(mktemp -p .); do :; done; done; true');
  const large = new Uint8Array(30 << 20);
  await assert.rejects(full.files.write('precious.txt', large.buffer), NotEnoughSpaceError);
  await assert.rejects(full.files.write('precious.txt', large.buffer, { useOctetStream: true }), NotEnoughSpaceError);
  assert.equal(await full.files.read('precious.txt'), 'old');
  await full.kill();
});

test('an upload that breaks off leaves the old file', async () => {
  await sandbox.files.write('broken.txt', 'whole');
  const abort = new AbortController();
  const body = new ReadableStream({
    start: (controller) => controller.enqueue(new Uint8Array(500_000)),
    pull: () => new Promise((resolve) => setTimeout(resolve, 50)).then(() => abort.abort()),
  });
  await assert.rejects(sandbox.files.write('broken.txt', body, { signal: abort.signal }));
  assert.equal(await sandbox.files.read('broken.txt'), 'whole');
  assert.equal(await run('ls -a | grep -c viv- || true'), '0\n');
});

test('an upload to a sandbox that is killed meanwhile is told as one to a sandbox that is gone', async () => {
  const doomed = await node.create();
  const begun = Promise.withResolvers<void>();
  const body = new ReadableStream({
    pull: async (controller) => {
      controller.enqueue(new Uint8Array(65_536));
      begun.resolve();
      await new Promise((resolve) => setTimeout(resolve, 10));
    },
  });
  const upload = doomed.files.write('never', body, { requestTimeoutMs: 0 });
  const outcome = assert.rejects(upload, { name: 'TimeoutError' });
  await begun.promise;
  await doomed.kill();
  await outcome;
});

test('a gibibyte goes up and down unchanged, and the server stays small', { timeout: 300_000 }, async () => {
  const big = await node.create();
  const block = Uint8Array.from({ length: 1 << 20 }, (_, at) => (at * 31 + (at >> 9)) & 255);
  const parts = Array.from({ length: 1024 }, () => block);
  const before = residentMiB();
  await big.files.write('big', new Blob(parts), { requestTimeoutMs: 0 });
  let total = 0;
  let differs = 0;
  const stream = await big.files.read('big', { format: 'stream', requestTimeoutMs: 0 });
  for await (const chunk of stream as unknown as AsyncIterable<Uint8Array>) {
    if (chunk[0] !== block[total % block.length] || chunk.at(-1) !== block[(total + chunk.length - 1) % block.length])
      differs++;
    total += chunk.length;
  }
  assert.deepEqual([total, differs], [1 << 30, 0]);
  assert.ok(residentMiB() - before < 200);
  await big.kill();
});
