import assert from 'node:assert/strict';
import { test } from 'node:test';
import { served } from '../testing/served.ts';

type Case = {
  name: string;
  call: [string, string, unknown?, Record<string, string>?];
  status: number;
  code: string;
  message: RegExp;
};
const create = (extra: object) => ({ image: 'base/debian@12', ...extra });

const CASES: Case[] = [
  {
    name: 'malformed JSON names its position',
    call: ['POST', '/v1/sandboxes', '{"image": "a@1", x}'],
    status: 400,
    code: 'malformed_json',
    message: /position 17/,
  },
  {
    name: 'an unexpected token is found where V8 does not say where',
    call: ['POST', '/v1/sandboxes', '{"image": nope}'],
    status: 400,
    code: 'malformed_json',
    message: /position 11: Unexpected token/,
  },
  {
    name: 'JSON that breaks off',
    call: ['POST', '/v1/sandboxes', '{"image": "a@1"'],
    status: 400,
    code: 'malformed_json',
    message: /position 15/,
  },
  {
    name: 'bytes that are not UTF-8',
    call: ['POST', '/v1/sandboxes', new Uint8Array([0x22, 0xff, 0x22])],
    status: 400,
    code: 'malformed_json',
    message: /UTF-8/,
  },
  {
    name: 'a body that is no object',
    call: ['POST', '/v1/sandboxes', '[1]'],
    status: 400,
    code: 'invalid_argument',
    message: /the body must be an object, not an array/,
  },
  {
    name: 'an unknown field and the one that was meant',
    call: ['POST', '/v1/sandboxes', create({ lables: {} })],
    status: 400,
    code: 'unknown_field',
    message: /unknown field "lables"; did you mean "labels"\?/,
  },
  {
    name: 'a misspelt required field',
    call: ['POST', '/v1/sandboxes', { imgae: 'a@1' }],
    status: 400,
    code: 'unknown_field',
    message: /did you mean "image"/,
  },
  {
    name: 'an unknown nested field',
    call: ['POST', '/v1/sandboxes', create({ limits: { memoryMib: 5 } })],
    status: 400,
    code: 'unknown_field',
    message: /"memoryMib" in limits; did you mean "memoryMiB"\?/,
  },
  {
    name: 'an unknown field in a list',
    call: ['POST', '/v1/sandboxes', create({ reach: [{ port: 1, url: 'http://a', maxConnection: 1 }] })],
    status: 400,
    code: 'unknown_field',
    message: /in reach\[0\]; did you mean "maxConnections"/,
  },
  {
    name: 'an unknown query parameter',
    call: ['GET', '/v1/sandboxes?stat=running'],
    status: 400,
    code: 'unknown_field',
    message: /"stat"/,
  },
  {
    name: 'a query where none belongs',
    call: ['GET', '/v1/node?verbose=1'],
    status: 400,
    code: 'unknown_field',
    message: /"verbose": this operation has none/,
  },
  {
    name: 'a limit above its maximum',
    call: ['POST', '/v1/sandboxes', create({ limits: { pids: 99_999 } })],
    status: 400,
    code: 'limit_too_high',
    message: /limits\.pids is 99999, its maximum is 32768/,
  },
  {
    name: 'a page that is too large',
    call: ['GET', '/v1/sandboxes?limit=5000'],
    status: 400,
    code: 'limit_too_high',
    message: /limit is 5000, its maximum is 1000/,
  },
  {
    name: 'a negative TTL',
    call: ['POST', '/v1/sandboxes', create({ ttlS: -5 })],
    status: 400,
    code: 'invalid_argument',
    message: /ttlS is -5, its minimum is 1/,
  },
  {
    name: 'a missing field',
    call: ['POST', '/v1/sandboxes', {}],
    status: 400,
    code: 'invalid_argument',
    message: /image is required/,
  },
  {
    name: 'an empty body',
    call: ['POST', '/v1/sandboxes'],
    status: 400,
    code: 'invalid_argument',
    message: /image is required/,
  },
  {
    name: 'a value of the wrong type',
    call: ['POST', '/v1/sandboxes', create({ labels: 7 })],
    status: 400,
    code: 'invalid_argument',
    message: /labels must be a record, not a number/,
  },
  {
    name: 'a value that is none of the known ones',
    call: ['POST', '/v1/sandboxes', create({ kind: 'docker' })],
    status: 400,
    code: 'invalid_argument',
    message: /kind must be one of fn, container, microvm, vm/,
  },
  {
    name: 'a name of a variable that is none',
    call: ['POST', '/v1/sandboxes', create({ env: { 'A;rm': '1' } })],
    status: 400,
    code: 'invalid_argument',
    message: /env\.A;rm: a variable name is/,
  },
  {
    name: 'a state filter with an unknown state',
    call: ['GET', '/v1/sandboxes?state=running,dead'],
    status: 400,
    code: 'invalid_argument',
    message: /state\[1\] must be one of/,
  },
  {
    name: 'a query parameter given twice',
    call: ['GET', '/v1/sandboxes?limit=1&limit=2'],
    status: 400,
    code: 'invalid_argument',
    message: /given twice/,
  },
  {
    name: 'an unknown image',
    call: ['POST', '/v1/sandboxes', { image: 'nope@1' }],
    status: 404,
    code: 'image_not_found',
    message: /nope@1/,
  },
  {
    name: 'an unknown id',
    call: ['GET', '/v1/sandboxes/abcdefghij0123456789'],
    status: 404,
    code: 'sandbox_not_found',
    message: /abcdefghij0123456789/,
  },
  {
    name: 'an id that can be none',
    call: ['GET', '/v1/sandboxes/..%2f..%2fetc'],
    status: 404,
    code: 'sandbox_not_found',
    message: /is not an id/,
  },
  {
    name: 'an unknown route',
    call: ['GET', '/v1/nothing'],
    status: 404,
    code: 'route_not_found',
    message: /nothing is at GET \/v1\/nothing/,
  },
  {
    name: 'a method that the path has not',
    call: ['PUT', '/v1/sandboxes', '{}'],
    status: 404,
    code: 'route_not_found',
    message: /\/v1\/sandboxes has no PUT; it has POST, GET/,
  },
  {
    name: 'a JSON body above 2 MiB',
    call: ['POST', '/v1/sandboxes', JSON.stringify({ image: 'x'.repeat(2_200_000) })],
    status: 413,
    code: 'payload_too_large',
    message: /larger than 2097152 bytes/,
  },
  {
    name: 'a variable that no object can have as a name',
    call: ['POST', '/v1/sandboxes', '{"image": "a@1", "env": {"__proto__": "x"}}'],
    status: 400,
    code: 'invalid_argument',
    message: /"__proto__" can't be used/,
  },
  {
    name: 'the same name, escaped',
    call: ['POST', '/v1/sandboxes', '{"image": "a@1", "metadata": {"\\u005f_pr\\u006fto__": "x"}}'],
    status: 400,
    code: 'invalid_argument',
    message: /"__proto__" can't be used/,
  },
  {
    name: 'the same name as a query parameter',
    call: ['GET', '/v1/sandboxes?__proto__=1'],
    status: 400,
    code: 'unknown_field',
    message: /__proto__/,
  },
  {
    name: 'a compressed body',
    call: ['POST', '/v1/sandboxes', '{}', { 'content-encoding': 'gzip' }],
    status: 400,
    code: 'invalid_argument',
    message: /content-encoding/,
  },
];

test('bad requests are answered with errors that name what is wrong', async (t) => {
  await using api = await served();
  for (const { name, call, status, code, message } of CASES) {
    await t.test(name, async () => {
      const answer = await api.call(...call);
      assert.equal(answer.json?.error?.code, code, answer.text);
      assert.equal(answer.status, status);
      assert.match(answer.json.error.message, message);
      assert.ok(
        answer.json.error.hint.length > 0 &&
          typeof answer.json.error.retryable === 'boolean' &&
          answer.json.error.fault === 'user',
      );
    });
  }
});

test('a limit that is too high names limit, value and maximum in its details', async () => {
  await using api = await served();
  const { json } = await api.call('POST', '/v1/sandboxes', create({ limits: { memoryMiB: 9_999_999 } }));
  assert.deepEqual(json.error.details, { limit: 'limits.memoryMiB', value: 9_999_999, maximum: 1_048_576 });
});
