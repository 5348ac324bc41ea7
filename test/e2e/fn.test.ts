import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { collect, type FnOptions, type ListFilter, Vivarium, VivError } from '@vivarium/sdk';
import { call } from '../harness/http.ts';
import { IMAGE, runViv, startTestNode, type TestNode } from '../harness/node.ts';
import { tarOf } from '../harness/tar.ts';

let node: TestNode;
let viv: Vivarium;
before(async () => {
  node = await startTestNode();
  viv = node.viv;
});
after(() => node.purge());

const fn = (options: Partial<FnOptions>) => viv.fn.run({ image: IMAGE, ...options });
const code = (wanted: string, message?: RegExp) => (error: unknown) => {
  assert.ok(error instanceof VivError && error.code === wanted, `${error}`);
  if (message) assert.match(error.message, message);
  return true;
};

test('code reads its input, arguments, variables and files, and its files come back', async () => {
  const result = await fn({
    language: 'python',
    code: `import os, sys
data = sys.stdin.buffer.read()
print(sys.argv[1:], os.environ['A'], os.getcwd(), open('in/a.txt').read(), len(data))
os.makedirs('out/deep')
open('out/deep/b.bin', 'wb').write(data)
open('c.txt', 'w').write('c')
open('/var/tmp/d.log', 'w').write('d')
os.symlink('/etc/shadow', 'link.txt'); os.mkfifo('pipe.txt')
sys.stderr.write('warned'); sys.exit(7)`,
    args: ['x y', '$HOME'],
    env: { A: 'v' },
    stdin: new Uint8Array([0, 255, 10]),
    files: { 'in/a.txt': 'text' },
    filesOut: ['**/*.bin', '*.txt', '/var/tmp/*.log', 'nothing'],
  });
  assert.equal(result.stdout, "['x y', '$HOME'] v /tmp/fn text 3\n");
  assert.deepEqual([result.stderr, result.exitCode, result.stage], ['warned', 7, 'run']);
  assert.deepEqual([...result.files.keys()].sort(), ['/var/tmp/d.log', 'c.txt', 'out/deep/b.bin']);
  assert.deepEqual([...result.files.get('out/deep/b.bin')!], [0, 255, 10]);
  assert.deepEqual(result.filesLeft, [{ path: 'nothing', reason: 'not_found' }]);
});

for (const [language, source, out] of [
  ['bash', '[[ ab == a* ]] && echo y "$@"', 'y 1\n'],
  ['sh', 'echo "$@"', '1\n'],
  [
    'c',
    '#include <stdio.h>\n#include <math.h>\nint main(int n,char**a){printf("%s %.0f\\n",a[1],sqrt(n*8));}',
    '1 4\n',
  ],
  ['perl', 'print "@ARGV\\n"', '1\n'],
] as const) {
  test(`${language} is run with its arguments`, async () => {
    const result = await fn({ language, code: source, args: ['1'] });
    assert.deepEqual([result.stdout, result.exitCode, result.stderr], [out, 0, '']);
  });
}

test('pytest says by its code whether the tests pass', async () => {
  const files = { 'solution.py': 'def twice(x):\n  return x * 2\n' };
  const tests = (wanted: number) => `from solution import twice\ndef test_it():\n  assert twice(2) == ${wanted}\n`;
  assert.equal((await fn({ language: 'pytest', code: tests(4), files })).exitCode, 0);
  const failed = await fn({ language: 'pytest', code: tests(5), files });
  assert.equal(failed.exitCode, 1);
  assert.match(failed.stdout, /assert 4 == 5/);
});

test('a compiler that fails or takes too long is the result', async () => {
  const wrong = await fn({ language: 'c', code: 'int main( {' });
  assert.deepEqual([wrong.stage, wrong.exitCode, wrong.compile!.exitCode], ['compile', 1, 1]);
  assert.match(wrong.compile!.stderr, /main\.c:1:\d+: error/);
  const slow = await fn({ language: 'c', code: '#include "/dev/zero"\n', compileTimeoutMs: 300 });
  assert.deepEqual([slow.stage, slow.outcome], ['compile', { type: 'timeout' }]);
});

test('how a program ends is told as for every command', async () => {
  const outcome = async (options: Partial<FnOptions>) => (await fn(options)).outcome;
  assert.deepEqual(await outcome({ argv: ['sleep', '60'], timeoutMs: 200 }), { type: 'timeout' });
  assert.deepEqual(await outcome({ argv: ['yes'], outputLimitBytes: 10_000 }), { type: 'output_limit' });
  assert.deepEqual(await outcome({ language: 'sh', code: 'kill -SEGV $$' }), { type: 'signaled', signal: 11 });
  const hog = { language: 'python', code: 'x = bytearray(300 << 20)', limits: { memoryMiB: 64 } };
  assert.deepEqual(await outcome(hog), { type: 'oom' });
  const missing = await fn({ argv: ['no-such-program'] });
  assert.deepEqual([missing.exitCode, missing.message], [127, 'no-such-program: not found']);
});

test('output is kept up to what was asked for, the rest is counted', async () => {
  const { stdout, exec } = await fn({ argv: ['head', '-c', '100000', '/dev/zero'], keepBytes: 1000 });
  assert.deepEqual([stdout.length, exec.stdout.bytes, exec.stdout.truncated], [1000, 100_000, true]);
});

test('files that are too large are left, and said to be', async () => {
  const made = { language: 'sh', code: 'head -c 5000 /dev/zero > a; echo b > b', filesOut: ['a', 'b'] };
  const { files, filesLeft } = await fn({ ...made, filesOutMaxBytes: 100 });
  assert.deepEqual([[...files.keys()], filesLeft.length, filesLeft[0]!.path], [['b'], 1, 'a']);
  assert.match(filesLeft[0]!.reason, /100 bytes/);
});

test('what a call can’t have is refused with its name', async () => {
  await assert.rejects(fn({ image: 'no/such@1', argv: ['true'] }), code('image_not_found'));
  await assert.rejects(fn({ argv: ['true'], user: 'nobody-here' }), code('user_unknown', /no user "nobody-here"/));
  await assert.rejects(fn({ argv: ['true'], files: { '/etc/x': '' }, user: '1000' }), code('path_denied', /\/etc\/x/));
  await assert.rejects(
    fn({ language: 'klingon', code: '' }),
    code('language_unavailable', /it has python, pytest, bash/),
  );
  await assert.rejects(fn({ language: 'c++', code: '' }), code('language_unavailable', /"g\+\+", which c\+\+ needs/));
});

test('an image’s own programs and labels are its languages', async () => {
  const dockerfile = `FROM ${IMAGE}
RUN printf '#!/bin/sh\\necho js "$@"; cat main.js' > /usr/bin/node && chmod +x /usr/bin/node
RUN printf '#!/bin/sh\\nwhile [ "$1" != -o ]; do shift; done; cp main.cpp "$2"; chmod +x "$2"' > /usr/bin/g++ && chmod +x /usr/bin/g++
LABEL viv.language.upper='{"file":"text","run":["tr","a-z","A-Z"],"aliases":["up"]}'
`;
  await viv.images.build({ name: 'own/languages@1', context: tarOf({ Dockerfile: dockerfile }) });
  const run = async (language: string, text: string, more: Partial<FnOptions> = {}) =>
    (await fn({ image: 'own/languages@1', language, code: text, ...more })).stdout;
  assert.equal(await run('nodejs', 'x'), 'js main.js\nx');
  assert.equal(await run('cpp', '#!/bin/sh\necho compiled'), 'compiled\n');
  assert.equal(await run('up', '', { stdin: 'abc' }), 'ABC');
  const names = (await viv.fn.languages('own/languages@1'))
    .filter(({ available }) => available)
    .map(({ name }) => name);
  assert.deepEqual(names, ['upper', 'python', 'pytest', 'javascript', 'bash', 'sh', 'c', 'c++', 'perl']);
  await viv.images.remove('own/languages@1');
});

test('a call finds nothing of the one before', async () => {
  const limits = { memoryMiB: 128 };
  const leave =
    'echo x > left.txt; echo x > /root/left; echo x > /usr/bin/left; rm /bin/ls; (setsid sleep 300 &); hostname left';
  const look = 'cat left.txt /root/left /usr/bin/left; ls -d /tmp/fn; pgrep sleep; hostname';
  for (let round = 0; round < 3; round++) {
    await fn({ language: 'bash', code: leave, limits });
    const { stdout } = await fn({ language: 'bash', code: look, limits });
    assert.match(stdout, /^\/tmp\/fn\n(?!left).*\n$/);
  }
});

test('calls of a session share a container, one after the other, until it ends', async () => {
  await using session = viv.fn.session({ image: IMAGE, language: 'bash' });
  const counts = await Promise.all(
    [1, 2, 3].map(() => session.run({ code: 'n=$(cat n 2>/dev/null || echo 0); sleep 0.1; echo $((n + 1)) | tee n' })),
  );
  assert.deepEqual(counts.map(({ stdout }) => stdout.trim()).sort(), ['1', '2', '3']);
  assert.equal(new Set(counts.map(({ exec }) => exec.sandbox)).size, 1);
  assert.deepEqual(
    (await viv.fn.sessions()).map(({ name }) => name),
    [session.name],
  );
  await session.end();
  assert.deepEqual(await viv.fn.sessions(), []);
  assert.equal((await session.run({ code: 'cat n' })).exitCode, 1, 'the next call of that name begins anew');
});

test('a session that nobody uses ends by itself', async () => {
  const { exec } = await fn({ argv: ['true'], session: 'short', sessionIdleS: 1 });
  const ended = await (await viv.sandboxes.get(exec.sandbox)).wait('ended', { signal: AbortSignal.timeout(30_000) });
  assert.equal(ended.state, 'ended');
  assert.deepEqual(await viv.fn.sessions(), []);
});

test('a call is an exec in a sandbox of kind fn, and written down there', async () => {
  const { exec } = await fn({ argv: ['echo', 'kept'] });
  const sandbox = await viv.sandboxes.get(exec.sandbox);
  assert.equal(sandbox.info.kind, 'fn');
  assert.ok((await collect(sandbox.execs())).some(({ id }) => id === exec.id));
  const listed = async (filter: ListFilter) => (await collect(viv.sandboxes.list(filter))).map(({ id }) => id);
  assert.ok(!(await listed({})).includes(sandbox.id), 'lists of sandboxes are without it');
  assert.ok((await listed({ kinds: 'fn' })).includes(sandbox.id), 'unless asked for');
  const made = viv.sandboxes.create({ image: IMAGE, kind: 'fn' });
  await assert.rejects(made, code('unsupported'));
  for (const act of [() => sandbox.fork(), () => sandbox.pause(), () => sandbox.snapshot('own/fn@1')])
    await assert.rejects(async () => act(), code('unsupported'));
});

test('a retried call runs once, also after the server was killed', async () => {
  await using session = viv.fn.session({ image: IMAGE, language: 'bash', name: 'once' });
  const body = { code: 'echo run >> runs; cat runs' };
  const control = { idempotencyKey: 'the-same' };
  const first = await session.run(body, control);
  await node.kill9();
  await node.start();
  const second = await session.run(body, control);
  assert.deepEqual([second.exec.id, second.stdout], [first.exec.id, 'run\n']);
  await assert.rejects(session.run({ code: 'other' }, control), code('idempotency_mismatch'));
});

test('another key sees neither sessions nor pools, and its session of that name is another', async () => {
  const key = await viv.keys.create({ name: 'other', scopes: ['sandboxes'] });
  const other = new Vivarium({ url: node.url, apiKey: key.secret! });
  const mine = await fn({ argv: ['sh', '-c', 'touch mine'], session: 'name' });
  const theirs = await other.fn.run({ image: IMAGE, argv: ['ls'], session: 'name' });
  assert.equal(theirs.stdout, '');
  assert.deepEqual(
    (await other.fn.sessions()).map(({ sandbox }) => sandbox),
    [theirs.exec.sandbox],
  );
  await assert.rejects(other.sandboxes.get(mine.exec.sandbox), code('sandbox_not_found'));
  await other.fn.endSession('name');
  assert.equal((await fn({ argv: ['ls'], session: 'name' })).stdout, 'mine\n');
  await viv.fn.endSession('name');
  other.close();
});

test('clients of /run_code are answered in its shape', async () => {
  const post = async (body: object) => (await call(node, 'POST', '/run_code', body)).body;
  const good = await post({
    language: 'python',
    code: 'print(input() + open("a.txt").read()); open("b.txt", "w").write("b")',
    stdin: 'in',
    files: { 'a.txt': Buffer.from('file').toString('base64') },
    fetch_files: ['b.txt'],
    run_timeout: 20,
  });
  const run = good.run_result as Record<string, unknown>;
  assert.deepEqual([good.status, run.status, run.return_code, run.stdout], ['Success', 'Finished', 0, 'infile\n']);
  assert.deepEqual(good.files, { 'b.txt': 'Yg==' });
  const slow = await post({ language: 'bash', code: 'echo so far; sleep 60', run_timeout: 0.3 });
  assert.equal(slow.status, 'Failed');
  assert.equal((slow.run_result as { status: string }).status, 'TimeLimitExceeded');
  const wrong = await post({ language: 'c', code: 'x' });
  assert.deepEqual([wrong.status, (wrong.compile_result as { return_code: number }).return_code], ['Failed', 1]);
});

test('viv fn run is a program with the code’s streams and exit code', async () => {
  const ran = runViv(node, ['fn', 'run', IMAGE, '-l', 'bash', '-c', 'echo out; echo err >&2; exit 5']);
  assert.deepEqual([ran.code, ran.stdout, ran.stderr], [5, 'out\n', 'err\n']);
  const warmed = runViv(node, ['fn', 'warm', IMAGE, '-n', '2']);
  assert.match(warmed.stdout, /^\d+ ready\n$/);
  assert.match(runViv(node, ['fn', 'ls']).stdout, new RegExp(`${IMAGE} +1024 MiB, 2 CPUs +[2-9]`));
});
