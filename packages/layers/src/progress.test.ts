import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Image, Progress } from '@vivarium/protocol';
import { withProgress } from './progress.ts';

const IMAGE = { name: 'a@1' } as Image;
const never = new AbortController().signal;

test('lines come in order and the image last', async () => {
  const seen: Progress[] = [];
  const work = withProgress(never, async (report) => {
    report('one', '1');
    await new Promise((resolve) => setImmediate(resolve));
    report('two', '2', { done: 2 });
    return IMAGE;
  });
  for await (const line of work) seen.push(line);
  assert.deepEqual(seen, [
    { type: 'progress', stage: 'one', message: '1' },
    { type: 'progress', stage: 'two', message: '2', done: 2 },
    { type: 'done', image: IMAGE },
  ]);
});

test('an error of the work is thrown after the lines before it', async () => {
  const seen: string[] = [];
  const work = withProgress(never, async (report) => {
    report('one', '1');
    throw new Error('no');
  });
  await assert.rejects(async () => {
    for await (const line of work) seen.push(line.type);
  }, /no/);
  assert.deepEqual(seen, ['progress']);
});

test('a reader that leaves aborts the work and waits for its clean-up', async () => {
  let cleaned = false;
  const work = withProgress(never, async (report, signal) => {
    report('one', '1');
    await new Promise((resolve) => signal.addEventListener('abort', resolve));
    await new Promise((resolve) => setImmediate(resolve));
    cleaned = true;
    throw signal.reason;
  });
  for await (const _ of work) break;
  assert.equal(cleaned, true);
});

test('a slow reader sees a bounded number of lines', async () => {
  const work = withProgress(never, async (report) => {
    for (let index = 0; index < 10_000; index++) report('x', String(index));
    return IMAGE;
  });
  const seen: Progress[] = [];
  for await (const line of work) seen.push(line);
  assert.ok(seen.length <= 66, String(seen.length));
});
