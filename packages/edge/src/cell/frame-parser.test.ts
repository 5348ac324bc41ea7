import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { FRAME, HEADER_BYTES, isViolation, putHeader, putOffset } from './frame.ts';
import { FrameParser } from './frame-parser.ts';

type Seen = { type: number; chan: number; stream: number; offset: number; bytes: string };

/** What the parser says, DATA pieces joined where they follow each other. */
function parse(chunks: Buffer[]): Seen[] {
  const seen: Seen[] = [];
  let left = 0;
  const parser = new FrameParser({
    frame: (type, chan, stream, payload) => {
      left = 0;
      seen.push({ type, chan, stream, offset: 0, bytes: payload.toString('hex') });
    },
    data: (chan, stream, offset, piece) => {
      const last = seen.at(-1);
      const goesOn = left > 0 && last?.stream === stream && offset === last.offset + last.bytes.length / 2;
      if (goesOn && last) last.bytes += piece.toString('hex');
      else seen.push({ type: FRAME.DATA, chan, stream, offset, bytes: piece.toString('hex') });
      left = 1;
    },
  });
  for (const chunk of chunks) parser.push(chunk);
  return seen;
}

function frame(type: number, chan: number, stream: number, payload: Buffer): Buffer {
  const head = Buffer.alloc(HEADER_BYTES);
  putHeader(head, payload.length, type, chan, stream);
  return Buffer.concat([head, payload]);
}

function dataFrame(chan: number, stream: number, offset: number, bytes: Buffer): Buffer {
  const head = Buffer.alloc(8);
  putOffset(head, offset, 0);
  return frame(FRAME.DATA, chan, stream, Buffer.concat([head, bytes]));
}

const bytes = (min: number, max: number): fc.Arbitrary<Buffer> =>
  fc.uint8Array({ minLength: min, maxLength: max }).map((array) => Buffer.from(array));
const id = fc.integer({ min: 1, max: 0xffff_ffff });
const anyFrame: fc.Arbitrary<Buffer> = fc.oneof(
  fc.tuple(id, bytes(0, 300)).map(([stream, payload]) => frame(FRAME.OK, 0, stream, payload)),
  fc.tuple(id, bytes(8, 264)).map(([stream, payload]) => frame(FRAME.FAIL, 0, stream, payload)),
  fc.tuple(id, bytes(4, 4)).map(([stream, payload]) => frame(FRAME.SPAWNED, 0, stream, payload)),
  fc
    .tuple(id, fc.integer({ min: 0, max: 2 }), fc.maxSafeNat(), bytes(1, 200))
    .map(([stream, chan, offset, payload]) => {
      return dataFrame(chan, stream, offset, payload);
    }),
);

test('a stream of frames reads the same however it is cut', () => {
  fc.assert(
    fc.property(fc.array(anyFrame, { maxLength: 8 }), fc.array(fc.nat(1000), { maxLength: 20 }), (frames, cuts) => {
      const whole = Buffer.concat(frames);
      const at = [0, ...cuts.map((cut) => cut % (whole.length + 1)).sort((a, b) => a - b), whole.length];
      const chunks = at.slice(1).map((end, index) => whole.subarray(at[index], end));
      assert.deepEqual(
        parse(chunks),
        frames.flatMap((one) => parse([one])),
      );
    }),
  );
});

test('a stream of frames survives being cut at every byte', () => {
  const whole = Buffer.concat([
    frame(FRAME.OK, 0, 7, Buffer.alloc(0)),
    dataFrame(1, 7, 2 ** 52, Buffer.from('payload')),
    frame(FRAME.EOF, 1, 7, Buffer.alloc(8)),
    dataFrame(2, 9, 0, Buffer.from('x')),
  ]);
  const expected = parse([whole]);
  assert.equal(expected.length, 4);
  for (let cut = 0; cut <= whole.length; cut++) {
    assert.deepEqual(parse([whole.subarray(0, cut), whole.subarray(cut)]), expected);
  }
  assert.deepEqual(parse([...whole].map((byte) => Buffer.from([byte]))), expected);
});

test('random bytes are either frames or a violation, never another error', () => {
  fc.assert(
    fc.property(fc.array(bytes(0, 64), { maxLength: 6 }), (chunks) => {
      try {
        parse(chunks);
      } catch (error) {
        assert.ok(isViolation(error), String(error));
      }
    }),
  );
});

test('data is handed on as it comes, without waiting for its frame', () => {
  const pieces: string[] = [];
  const parser = new FrameParser({
    frame: () => {},
    data: (_chan, _stream, offset, piece) => pieces.push(`${offset}:${piece}`),
  });
  const whole = dataFrame(1, 3, 10, Buffer.from('abcdef'));
  parser.push(whole.subarray(0, 22));
  parser.push(whole.subarray(22));
  assert.deepEqual(pieces, ['10:ab', '12:cdef']);
});

test('nothing is delivered after stop, not even from the same chunk', () => {
  let count = 0;
  const parser: FrameParser = new FrameParser({
    frame: () => {
      count++;
      parser.stop();
    },
    data: () => count++,
  });
  parser.push(Buffer.concat([frame(FRAME.OK, 0, 1, Buffer.alloc(0)), dataFrame(1, 1, 0, Buffer.from('x'))]));
  parser.push(frame(FRAME.OK, 0, 1, Buffer.alloc(0)));
  assert.equal(count, 1);
});

for (const [name, bad] of Object.entries({
  'an unknown type': frame(0x77, 0, 1, Buffer.alloc(0)),
  'a type that only the host sends': frame(FRAME.SPAWN, 0, 1, Buffer.alloc(0)),
  'a length above the limit': frame(FRAME.OK, 0, 1, Buffer.alloc(16_385)).subarray(0, HEADER_BYTES),
  'a DATA frame without a byte': frame(FRAME.DATA, 1, 1, Buffer.alloc(8)),
  'a DATA frame above 64 KiB': frame(FRAME.DATA, 1, 1, Buffer.alloc(65_545)).subarray(0, 20),
  'a channel the type does not have': frame(FRAME.OK, 1, 1, Buffer.alloc(0)),
  'a stream where the connection is meant': frame(FRAME.READY, 0, 1, Buffer.alloc(0)),
  'the connection where a stream is meant': frame(FRAME.OK, 0, 0, Buffer.alloc(0)),
  'an offset beyond 2^53': Buffer.concat([frame(FRAME.DATA, 1, 1, Buffer.alloc(9, 0xff))]),
  'a reserved flag': Buffer.from(frame(FRAME.OK, 0, 1, Buffer.alloc(0))).fill(1, 6, 7),
})) {
  test(`${name} is a violation`, () => {
    assert.throws(() => parse([bad]), isViolation);
  });
}
