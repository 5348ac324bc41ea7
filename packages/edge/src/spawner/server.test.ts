import assert from 'node:assert/strict';
import { PassThrough } from 'node:stream';
import { test } from 'node:test';
import { setImmediate as tick } from 'node:timers/promises';
import { VivError } from '@vivarium/protocol';
import fc from 'fast-check';
import { type Answer, createLineReader, type Request, toLine } from './line-codec.ts';
import { serveOperations } from './server.ts';

const operations = {
  double: ({ value }: { value: number }) => value * 2,
  nothing: () => undefined,
  refuse: () => {
    throw new VivError('node_full', 'no room');
  },
  async *count({ to, ended }: { to: number; ended?: () => void }) {
    try {
      for (let at = 0; at < to; at += 2) yield [at, at + 1];
    } finally {
      ended?.();
    }
  },
};

function serve() {
  const input = new PassThrough();
  const output = new PassThrough();
  const answers: Answer[] = [];
  output.setEncoding('utf8');
  output.on(
    'data',
    createLineReader<Answer>((answer) => answers.push(answer)),
  );
  serveOperations(operations, input, output);
  const send = async (request: Request) => {
    input.write(toLine(request));
    for (let round = 0; round < 5; round++) await tick();
    return answers.at(-1);
  };
  return { send, answers };
}

test('a call is answered with its result, or null for none', async () => {
  const { send } = serve();
  assert.deepEqual(await send({ call: 1, op: 'double', params: { value: 21 } }), { to: 1, done: 42 });
  assert.deepEqual(await send({ call: 2, op: 'nothing', params: null }), { to: 2, done: null });
});

test('an error keeps its code, an unknown operation is one', async () => {
  const { send } = serve();
  const refused = (await send({ call: 1, op: 'refuse', params: null })) as Answer & { error: never };
  assert.equal(VivError.fromBody(refused.error).code, 'node_full');
  const unknown = (await send({ call: 2, op: 'nonsense', params: null })) as Answer & { error: never };
  assert.equal(VivError.fromBody(unknown.error).code, 'internal');
});

test('batches come one by one as they are asked for, then the end', async () => {
  const { send, answers } = serve();
  assert.deepEqual(await send({ call: 1, op: 'count', params: { to: 4 } }), { to: 1, batch: [0, 1] });
  assert.equal(answers.length, 1);
  assert.deepEqual(await send({ next: 1 }), { to: 1, batch: [2, 3] });
  assert.deepEqual(await send({ next: 1 }), { to: 1, done: null });
});

test('a cancelled stream answers no more', async () => {
  const { send, answers } = serve();
  await send({ call: 1, op: 'count', params: { to: 1000 } });
  await send({ cancel: 1 });
  await send({ next: 1 });
  assert.equal(answers.length, 1);
});

test('messages survive any cut of the byte stream', () => {
  fc.assert(
    fc.property(fc.array(fc.record({ to: fc.nat(), done: fc.jsonValue() })), fc.array(fc.nat()), (messages, cuts) => {
      const text = messages.map(toLine).join('');
      const got: unknown[] = [];
      const read = createLineReader<unknown>((message) => got.push(message));
      const places = [0, ...cuts.map((cut) => cut % (text.length + 1)).sort((a, b) => a - b), text.length];
      for (let index = 1; index < places.length; index++) read(text.slice(places[index - 1], places[index]));
      assert.deepEqual(got, JSON.parse(JSON.stringify(messages)));
    }),
  );
});
