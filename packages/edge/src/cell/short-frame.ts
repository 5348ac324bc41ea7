import { FRAME, HEADER_BYTES, putHeader, putOffset } from './frame.ts';

/** A frame whose payload is a few u32. */
export function wordsFrame(type: number, stream: number, words: number[]): Buffer {
  const frame = Buffer.allocUnsafe(HEADER_BYTES + words.length * 4);
  putHeader(frame, words.length * 4, type, 0, stream);
  for (let i = 0; i < words.length; i++) frame.writeUInt32LE(words[i] as number, HEADER_BYTES + i * 4);
  return frame;
}

/** A frame with any payload. */
export function payloadFrame(type: number, stream: number, payload: Uint8Array): Buffer {
  const frame = Buffer.allocUnsafe(HEADER_BYTES + payload.length);
  putHeader(frame, payload.length, type, 0, stream);
  frame.set(payload, HEADER_BYTES);
  return frame;
}

export function windowFrame(chan: number, stream: number, acked: number, limit: number): Buffer {
  const frame = Buffer.allocUnsafe(HEADER_BYTES + 16);
  putHeader(frame, 16, FRAME.WINDOW, chan, stream);
  putOffset(frame, acked, HEADER_BYTES);
  putOffset(frame, limit, HEADER_BYTES + 8);
  return frame;
}

export function eofFrame(stream: number, final: number): Buffer {
  const frame = Buffer.allocUnsafe(HEADER_BYTES + 8);
  putHeader(frame, 8, FRAME.EOF, 0, stream);
  putOffset(frame, final, HEADER_BYTES);
  return frame;
}
