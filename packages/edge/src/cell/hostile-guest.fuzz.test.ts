import assert from 'node:assert/strict';
import { test } from 'node:test';
import { VivError } from '@vivarium/protocol';
import fc from 'fast-check';
import type { Cell } from './cell.ts';
import { FakeGuest, raw } from './fixture/fake-guest.ts';
import { FRAME } from './frame.ts';

const none = { onData: () => {}, onEof: () => {}, onExit: () => {}, onFail: () => {} };
const path = Buffer.from('/x');

async function all(items: AsyncIterable<unknown>): Promise<void> {
  for await (const _ of items);
}

/** Every way to open a stream; each uses stream 1. */
const WORK: Record<string, (cell: Cell) => Promise<unknown>> = {
  spawn: (cell) =>
    cell.spawn({ argv: ['x'], env: {}, stdin: true, tag: path, handlers: none }).then((process) => process.start()),
  connect: (cell) => cell.connectTcp(1).then((port) => all(port.end('x'))),
  listen: (cell) =>
    cell.listenTcp(1).then((listener) => listener.onConnection((connection) => connection.resume().end('x'))),
  stat: (cell) => cell.stat(path),
  list: (cell) => all(cell.list(path)),
  read: (cell) => cell.read(path).then(({ stream }) => all(stream)),
  write: (cell) => cell.write(path, [Buffer.alloc(100_000)]),
  watch: (cell) => cell.watch(path).then(all),
  processes: (cell) => cell.processes(),
};

const LENGTHS: [number, number, number][] = [
  [FRAME.SPAWNED, 4, 4],
  [FRAME.EXITED, 32, 32],
  [FRAME.FAIL, 8, 40],
  [FRAME.OPENED, 4, 4],
  [FRAME.OK, 0, 0],
  [FRAME.OK, 8, 90],
  [FRAME.EOF, 8, 8],
  [FRAME.WINDOW, 16, 16],
];

/** Mostly small numbers, as a lying guest would use them, in every position. */
const bytes = (min: number, max: number): fc.Arbitrary<Buffer> => {
  const byte = fc.oneof({ weight: 6, arbitrary: fc.constant(0) }, fc.nat(9), fc.nat(255));
  return fc.array(byte, { minLength: min, maxLength: max }).map((list) => Buffer.from(list));
};
const stream = fc.oneof({ weight: 8, arbitrary: fc.constant(1) }, fc.integer({ min: 1, max: 4 }));
const control = fc.constantFrom(...LENGTHS).chain(([type, min, max]) => {
  return fc.tuple(fc.nat(type === FRAME.EOF ? 2 : 0), stream, bytes(min, max)).map(([chan, id, payload]) => {
    return raw(type, chan, id, payload);
  });
});
const data = fc
  .tuple(fc.constantFrom(1, 1, 1, 2), stream, fc.nat(3), bytes(1, 150))
  .map(([chan, id, offset, payload]) => {
    const head = Buffer.alloc(8);
    head[0] = offset === 3 ? payload.length : 0;
    return raw(FRAME.DATA, chan, id, Buffer.concat([head, payload]));
  });

test('whatever frames a guest makes up, the host ends with results and errors it foresaw', async () => {
  const plan = fc.tuple(
    fc.constantFrom(...Object.keys(WORK)),
    fc.array(fc.oneof(control, data), { minLength: 1, maxLength: 12 }),
  );
  await fc.assert(
    fc.asyncProperty(plan, async ([name, frames]) => {
      const guest = new FakeGuest();
      const cell = await guest.open();
      const settled = Promise.allSettled([WORK[name]?.(cell)]);
      await new Promise((resolve) => setImmediate(resolve));
      for (const one of frames) {
        guest.say(one);
        await Promise.resolve();
      }
      await new Promise((resolve) => setImmediate(resolve));
      cell.close();
      for (const result of await settled) {
        if (result.status === 'rejected') assertForeseen(result.reason);
      }
    }),
    { numRuns: 3000, examples: [[['spawn', [raw(FRAME.FAIL, 0, 1, Buffer.from([0, 0, 0, 0, 14, 0, 0, 0]))]]]] },
  );
});

/** A VivError that no bug of ours is behind. */
function assertForeseen(thrown: unknown): void {
  for (let error = thrown; error !== undefined; error = (error as Error).cause) {
    assert.ok(error instanceof VivError && error.code !== 'internal', String(error));
  }
}
