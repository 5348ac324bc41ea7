import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { isViolation } from './frame.ts';
import { Inflow } from './inflow.ts';
import type { Link } from './link.ts';
import { Outflow } from './outflow.ts';

const quiet: Link = {
  send: () => {},
  sendShort: () => {},
  sendWindow: () => {},
  sendEof: () => {},
  sendData: () => {},
  blocked: () => false,
  forget: () => {},
};

function windowPayload(acked: number, limit: number): Buffer {
  const payload = Buffer.alloc(16);
  payload.writeBigUInt64LE(BigInt(acked), 0);
  payload.writeBigUInt64LE(BigInt(limit), 8);
  return payload;
}

test('an ack that is held back never leaves the guest without credit', () => {
  const window = fc.integer({ min: 1, max: 5000 });
  fc.assert(
    fc.property(window, fc.array(fc.integer({ min: 1, max: 700 }), { maxLength: 100 }), (size, wants) => {
      const flow = new Inflow(size);
      let told = size;
      for (const want of wants) {
        const take = Math.min(want, told - flow.received);
        assert.ok(take > 0, 'the guest is stuck');
        flow.accept(flow.received, take);
        flow.grant(flow.received, flow.received + size);
        if (!flow.due) continue;
        flow.told();
        told = flow.limit;
      }
    }),
  );
});

test('after a reconnect repeats are skipped and nothing is lost', () => {
  const flow = new Inflow(1000);
  flow.accept(0, 300);
  flow.grant(100, 1100);
  flow.rewind();
  assert.equal(flow.accept(100, 150), 150);
  assert.equal(flow.accept(250, 100), 50);
  assert.equal(flow.received, 350);
});

for (const [name, act] of Object.entries<(flow: Inflow) => unknown>({
  'data that leaves a gap': (flow) => flow.accept(1, 1),
  'data beyond the limit': (flow) => flow.accept(0, 1001),
  'data after the end': (flow) => [flow.finish(0), flow.accept(0, 1)],
  'an end that is not at the last byte': (flow) => flow.finish(5),
  'a second end elsewhere': (flow) => [flow.finish(0), flow.rewind(), flow.finish(1)],
})) {
  test(`${name} is a violation`, () => {
    assert.throws(() => act(new Inflow(1000)), isViolation);
  });
}

test('whatever the credit and wherever the connection breaks, the reader gets the writer’s bytes once', () => {
  const step = fc.oneof(
    fc.record({ write: fc.integer({ min: 1, max: 90_000 }) }),
    fc.record({ ack: fc.integer({ min: 0, max: 100_000 }) }),
    fc.record({ lose: fc.integer({ min: 0, max: 100_000 }) }),
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
      const source: number[] = [];
      let got = Buffer.alloc(0);
      let ended = -1;
      const link: Link = {
        ...quiet,
        sendData: (_stream, offset, bytes) => {
          assert.equal(offset, got.length);
          got = Buffer.concat([got, bytes]);
        },
        sendEof: (_stream, final) => {
          ended = final;
        },
      };
      const flow = new Outflow(link, 1, true);
      let acked = 0;
      let limit = 65_536;
      for (const act of steps) {
        if ('write' in act) {
          const chunk = Buffer.alloc(act.write, source.length % 251);
          source.push(act.write);
          flow.write(chunk, () => {});
        } else if ('ack' in act) {
          acked = Math.min(got.length, acked + act.ack);
          limit = Math.max(limit, acked + 65_536);
          flow.window(windowPayload(acked, limit));
        } else {
          const received = Math.max(acked, got.length - act.lose);
          got = got.subarray(0, received);
          acked = received;
          flow.resume(received);
        }
      }
      flow.close();
      for (let i = 0; i < 100 && ended < 0; i++) {
        acked = got.length;
        limit = acked + 65_536;
        flow.window(windowPayload(acked, limit));
      }
      const expected = Buffer.concat(source.map((length, index) => Buffer.alloc(length, index % 251)));
      assert.ok(got.equals(expected));
      assert.equal(ended, expected.length);
    }),
    { numRuns: 50 },
  );
});

test('a guest that discards lets every write through at once', () => {
  const flow = new Outflow(quiet, 1, true);
  let done = 0;
  flow.write(Buffer.alloc(200_000), () => done++);
  assert.equal(done, 0);
  flow.window(Buffer.alloc(16, 0xff));
  flow.write(Buffer.alloc(200_000), () => done++);
  assert.equal(done, 2);
});

for (const [name, acked, limit] of [
  ['an ack beyond what was sent', 11, 70_000],
  ['a limit that shrinks', 0, 100],
] as const) {
  test(`${name} is a violation`, () => {
    const flow = new Outflow(quiet, 1, false);
    flow.write(Buffer.alloc(10), () => {});
    assert.throws(() => flow.window(windowPayload(acked, limit)), isViolation);
  });
}
