import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FnRequest } from '@vivarium/protocol';
import { FakeFn } from '../testing/fake-fn.ts';
import { answerOf } from './answer.ts';
import { callOf } from './call.ts';

/** What the answer calls these absolute paths when those were asked for. */
async function shown(filesOut: string[], paths: string[]): Promise<string[]> {
  const request = FnRequest.parse({ image: 'a@1', argv: ['sh'], filesOut, cwd: '/work' });
  const call = callOf(request, undefined, undefined);
  const result = await new FakeFn().run(call, { keyId: 'k', maxSandboxes: null });
  const files = paths.map((path) => ({ path, content: Buffer.from(''), mode: 0 }));
  return answerOf(call, { ...result, files }).files.map(({ path }) => path);
}

test('a file is called as it was asked for', async () => {
  const paths = ['/work/a.txt', '/work/b/c.txt', '/etc/passwd', '/work/x/y.log'];
  const asked = ['./a.txt', '/work/b/c.txt', '/etc/passwd', 'x/*.log'];
  assert.deepEqual(await shown(asked, paths), ['./a.txt', '/work/b/c.txt', '/etc/passwd', 'x/y.log']);
});

test('what an absolute pattern matched stays absolute', async () => {
  assert.deepEqual(await shown(['/work/*.txt'], ['/work/a.txt']), ['/work/a.txt']);
  assert.deepEqual(await shown(['**'], ['/work/a/b.txt', '/worker/x']), ['a/b.txt', '/worker/x']);
});
