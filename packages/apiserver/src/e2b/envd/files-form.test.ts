import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as breathe } from 'node:timers/promises';
import { VivError } from '@vivarium/protocol';
import fc from 'fast-check';
import { takeForm } from './files-form.ts';

const BOUNDARY = '----boundary';
const headers = { 'content-type': `multipart/form-data; boundary=${BOUNDARY}` };

function part(disposition: string, content: Uint8Array | string): Buffer {
  const head = `--${BOUNDARY}\r\nContent-Disposition: form-data; ${disposition}\r\n\r\n`;
  return Buffer.concat([Buffer.from(head), Buffer.from(content as string), Buffer.from('\r\n')]);
}
const file = (name: string, content: Uint8Array | string) => part(`name="file"; filename="${name}"`, content);
const END = Buffer.from(`--${BOUNDARY}--\r\n`);

/** In chunks of the sizes given, over and over. */
async function* chunked(body: Buffer, sizes: readonly number[]): AsyncGenerator<Uint8Array> {
  for (let at = 0, turn = 0; at < body.length; turn++) {
    const size = sizes[turn % sizes.length]!;
    yield body.subarray(at, at + size);
    at += size;
  }
}

async function gather(name: string | undefined, content: AsyncIterable<Uint8Array>): Promise<[string, string]> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of content) {
    chunks.push(chunk);
    await breathe();
  }
  return [name ?? '', Buffer.concat(chunks).toString('latin1')];
}

test('any files come whole and in order, however the body is cut', async () => {
  const content = fc.oneof(
    fc.uint8Array({ maxLength: 400 }),
    fc
      .constantFrom('', '\r\n', `\r\n--${BOUNDARY.slice(0, -1)}`, '\r\n--', `x--${BOUNDARY}--`)
      .map((text) => Buffer.from(text)),
  );
  await fc.assert(
    fc.asyncProperty(
      fc.array(content, { maxLength: 4 }),
      fc.array(fc.integer({ min: 1, max: 300 }), { minLength: 1, maxLength: 5 }),
      async (contents, sizes) => {
        const body = Buffer.concat([...contents.map((one, at) => file(`/dir/${at}`, one)), END]);
        const taken = await takeForm(headers, chunked(body, sizes), gather);
        assert.deepEqual(
          taken,
          contents.map((one, at) => [`/dir/${at}`, Buffer.from(one).toString('latin1')]),
        );
      },
    ),
    { numRuns: 60 },
  );
});

test('names keep their directories and are free of what forms escape; other fields are dropped', async () => {
  const body = Buffer.concat([
    part('name="comment"', 'not a file'),
    file('/tmp/a %22b%22%0D%0A 50%25 ünï', 'x'),
    part('name="file"', 'content of a field'),
    part('name="other"; filename="o"', 'y'),
    END,
  ]);
  const taken = await takeForm(headers, chunked(body, [65_536]), gather);
  assert.deepEqual(taken, [
    ['/tmp/a "b"\r\n 50%25 ünï', 'x'],
    ['', 'content of a field'],
  ]);
});

test('a body that is cut off, wherever, is no file that is whole', async () => {
  const body = Buffer.concat([file('a', 'first'), file('b', 'second'), END]);
  for (let length = 0; length < body.length - 6; length++) {
    const whole: string[] = [];
    const take = async (name: string | undefined, content: AsyncIterable<Uint8Array>) => {
      const [, text] = await gather(name, content);
      whole.push(text);
    };
    await assert.rejects(
      takeForm(headers, chunked(body.subarray(0, length), [7]), take),
      { code: 'invalid_argument' },
      `${length}`,
    );
    assert.ok(
      whole.every((text) => text === 'first' || text === 'second'),
      `${length}: ${whole}`,
    );
  }
});

test('a file that fails ends the form; those before it are taken to their end', async () => {
  const body = Buffer.concat([file('a', 'x'.repeat(200_000)), file('b', 'y'.repeat(200_000)), file('c', 'z'), END]);
  const taken: string[] = [];
  const take = async (name: string | undefined, content: AsyncIterable<Uint8Array>) => {
    if (name === 'b') throw new VivError('is_directory', 'b is a directory');
    const [, text] = await gather(name, content);
    taken.push(`${name} ${text.length}`);
  };
  await assert.rejects(takeForm(headers, chunked(body, [65_536]), take), { code: 'is_directory' });
  assert.deepEqual(taken, ['a 200000']);
});

test('a body that breaks off ends the file that was on its way with its error', async () => {
  const body = async function* () {
    yield file('a', 'x'.repeat(100)).subarray(0, 120);
    throw new VivError('connection_lost', 'the client has gone');
  };
  let error: unknown;
  const take = (name: string | undefined, content: AsyncIterable<Uint8Array>) =>
    gather(name, content).catch((thrown) => {
      error = thrown;
      throw thrown;
    });
  await assert.rejects(takeForm(headers, body(), take), { code: 'connection_lost' });
  assert.equal((error as VivError).code, 'connection_lost');
});

test('many small files in one chunk are taken a few at a time, in their order', async () => {
  const body = Buffer.concat([...Array.from({ length: 500 }, (_, at) => file(`${at}`, `${at}`)), END]);
  let running = 0;
  let most = 0;
  const order: (string | undefined)[] = [];
  const take = async (name: string | undefined, content: AsyncIterable<Uint8Array>) => {
    order.push(name);
    most = Math.max(most, ++running);
    const [, text] = await gather(name, content);
    running -= 1;
    return text;
  };
  const names = Array.from({ length: 500 }, (_, at) => `${at}`);
  assert.deepEqual(await takeForm(headers, chunked(body, [body.length]), take), names);
  assert.deepEqual([order, most], [names, 4]);
});

test('what is no form is refused', async () => {
  for (const type of ['multipart/form-data', 'text/plain'])
    await assert.rejects(takeForm({ 'content-type': type }, chunked(END, [10]), gather), { code: 'invalid_argument' });
  await assert.rejects(takeForm(headers, chunked(Buffer.from('nonsense'), [3]), gather), { code: 'invalid_argument' });
});

test('a form of many chunks leaves nothing of each behind', async (t) => {
  const race = t.mock.method(Promise, 'race');
  const body = Buffer.concat([file('a', 'x'.repeat(5000)), END]);
  assert.equal((await takeForm(headers, chunked(body, [1]), async (_name, content) => gather('', content))).length, 1);
  assert.ok(race.mock.callCount() < 10, `${race.mock.callCount()} promises were raced`);
});
