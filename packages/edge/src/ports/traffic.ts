import type { Duplex } from 'node:stream';

/** Bytes that went into the sandbox and came out of it over one connection. */
export type Traffic = { bytesIn: number; bytesOut: number };

type Write = Duplex['_write'];
type Writev = NonNullable<Duplex['_writev']>;

/**
 * Counts what passes a connection, in place: no stream is put in between, nothing is copied. `onBytes` is called per chunk (it resets
 * idle times and holds limits).
 */
export function countTraffic(stream: Duplex, onBytes: (direction: 'in' | 'out', count: number) => void): Traffic {
  const traffic: Traffic = { bytesIn: 0, bytesOut: 0 };
  const count = (direction: 'in' | 'out', bytes: number) => {
    traffic[direction === 'in' ? 'bytesIn' : 'bytesOut'] += bytes;
    onBytes(direction, bytes);
  };
  const push = stream.push.bind(stream);
  stream.push = (chunk: Uint8Array | null, encoding?: BufferEncoding) => {
    if (chunk) count('out', chunk.length);
    return push(chunk, encoding);
  };
  const write: Write = stream._write.bind(stream);
  stream._write = (chunk: Buffer, encoding, done) => {
    count('in', chunk.length);
    write(chunk, encoding, done);
  };
  const writev: Writev | undefined = stream._writev?.bind(stream);
  if (writev) {
    stream._writev = (chunks, done) => {
      count(
        'in',
        chunks.reduce((sum, { chunk }) => sum + chunk.length, 0),
      );
      writev(chunks, done);
    };
  }
  return traffic;
}
