import { MUX_DATA_MAX_BYTES, MUX_HEADER_BYTES } from '@vivarium/protocol/mux-frame.ts';

const SIZES = [65_536 + MUX_HEADER_BYTES, MUX_DATA_MAX_BYTES + MUX_HEADER_BYTES] as const;
/** Free buffers kept per size; more are left to the garbage collector. */
const FREE_MAX = 32;
/** Below this a fresh small buffer is cheaper than a pooled large one. */
const POOLED_FROM_BYTES = 8_192;

const free: Buffer[][] = SIZES.map(() => []);

/**
 * A data message: header, then a copy of the chunk (the edge takes its chunk back as soon as it was sent). Large buffers are
 * used again and again: hand them back with `releaseFrame` once they are with the kernel.
 */
export function dataFrame(ch: number, sub: number, chunk: Uint8Array): Buffer {
  const length = MUX_HEADER_BYTES + chunk.length;
  const frame = take(length).subarray(0, length);
  frame.writeUInt32LE(ch, 0);
  frame.writeUInt32LE(sub, 4);
  frame.set(chunk, MUX_HEADER_BYTES);
  return frame;
}

export function releaseFrame(frame: Buffer): void {
  const index = SIZES.indexOf(frame.buffer.byteLength as (typeof SIZES)[number]);
  if (index >= 0 && free[index]!.length < FREE_MAX) free[index]!.push(Buffer.from(frame.buffer));
}

function take(length: number): Buffer {
  if (length < POOLED_FROM_BYTES) return Buffer.allocUnsafe(length);
  const index = SIZES.findIndex((size) => size >= length);
  return free[index]?.pop() ?? Buffer.allocUnsafeSlow(SIZES[index]!);
}
