import assert from 'node:assert/strict';
import { test } from 'node:test';
import { VivError } from '@vivarium/protocol';
import { type Served, served } from '../testing/served.ts';

const b64 = (text: string) => Buffer.from(text).toString('base64');
const runCode = async (api: Served, body: object) => (await api.call('POST', '/run_code', body)).json;

test('the common request is answered in the common shape', async () => {
  await using api = await served();
  const { executor_pod_name: sandbox, ...answer } = await runCode(api, {
    code: 'print(1)',
    language: 'python',
    compile_timeout: 10,
    run_timeout: 2.5,
    memory_limit_MB: 256,
    stdin: 'ключ',
    files: { 'a[1].txt': b64('one'), skipped: null },
    fetch_files: ['./made.txt', 'nothing', 'a[1].txt'],
    some_field_of_a_later_version: true,
  });
  assert.deepEqual(answer, {
    status: 'Success',
    message: '',
    compile_result: null,
    run_result: {
      status: 'Finished',
      execution_time: 0.001,
      return_code: 0,
      stdout: 'python3 main.py|ключ',
      stderr: '',
    },
    files: { './made.txt': b64('made'), 'a[1].txt': b64('one') },
  });
  assert.match(sandbox, /^[a-z0-9]{20}$/);
  const [call] = api.edge.fn.calls;
  assert.deepEqual([call!.image, call!.run.timeoutMs, call!.limits.memoryMiB], ['base/debian@12', 2500, 256]);
  assert.deepEqual(
    call!.files.map(({ path }) => path),
    ['a[1].txt', 'main.py'],
  );
  assert.deepEqual(call!.filesOut, ['./made.txt', 'nothing', 'a\\[1].txt']);
});

test('files come back under the names that were asked for', async () => {
  await using api = await served();
  const { files } = await runCode(api, { code: '', language: 'sh', fetch_files: ['made.txt'] });
  assert.deepEqual(files, { 'made.txt': b64('made') });
});

test('no memory limit is the default one', async () => {
  await using api = await served();
  await runCode(api, { code: '', language: 'sh' });
  await runCode(api, { code: '', language: 'sh', memory_limit_MB: 1 });
  assert.deepEqual(
    api.edge.fn.calls.map(({ limits }) => limits.memoryMiB),
    [1024, 16],
  );
});

for (const [says, status, step, code] of [
  ['fail', 'Failed', 'Finished', 3],
  ['crash', 'Failed', 'Finished', -11],
  ['hog', 'Failed', 'Finished', -9],
  ['slow', 'Failed', 'TimeLimitExceeded', null],
  ['lost', 'SandboxError', 'Error', null],
] as const) {
  test(`a program that ends like "${says}" is ${status}, its step ${step}`, async () => {
    await using api = await served();
    const answer = await runCode(api, { code: says, language: 'bash' });
    assert.equal(answer.status, status);
    assert.deepEqual([answer.run_result.status, answer.run_result.return_code], [step, code]);
  });
}

test('a compiler that fails leaves no result of running', async () => {
  await using api = await served();
  const answer = await runCode(api, { code: 'wrong', language: 'c' });
  assert.deepEqual([answer.status, answer.compile_result.return_code, answer.run_result], ['Failed', 3, null]);
  const good = await runCode(api, { code: 'right', language: 'c' });
  assert.deepEqual(
    [good.status, good.compile_result.status, good.run_result.status],
    ['Success', 'Finished', 'Finished'],
  );
});

test('what the node can’t do now is a SandboxError; what the caller can correct is an error', async () => {
  await using api = await served();
  const asked = await api.call('POST', '/run_code', { code: '', language: 'klingon' });
  assert.deepEqual([asked.status, asked.json.error.code], [400, 'language_unavailable']);
  assert.equal((await api.call('POST', '/run_code', { language: 'c' })).json.error.code, 'invalid_argument');
  api.edge.fn.refusal = new VivError('node_full', 'the node is full');
  const { status, json } = await api.call('POST', '/run_code', { code: '', language: 'sh' });
  assert.deepEqual([status, json.status, json.message], [200, 'SandboxError', 'the node is full (node_full)']);
});
