// Writes the seed corpus of connection.fuzz.c: one conversation of each kind, whole, and twice with a break between.
// Usage: node seeds.ts DIRECTORY
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { encodeFrame, T, type TlvItem, tlv, u32, u64 } from '../test/wire.ts';

const directory = process.argv[2];
if (!directory) throw new Error('usage: node seeds.ts DIRECTORY');

const hello = encodeFrame(T.HELLO, 0, Buffer.concat([Buffer.from([1, 0, 0, 0]), Buffer.alloc(16, 'n')]));
const rlimit = Buffer.concat([u32(7), u64(10), u64(10)]);
const begin = [hello, request(T.CONFIG, 1, [6, 'A=b'], [7, rlimit], [2, 0n])];

function request(type: number, stream: number, ...items: TlvItem[]): Buffer {
  return encodeFrame(type, stream, tlv(items));
}

function data(stream: number, offset: number, text: string): Buffer {
  return encodeFrame(T.DATA, stream, Buffer.concat([u64(offset), Buffer.from(text)]));
}

const seeds: Record<string, Buffer[]> = {
  spawn: [
    request(T.SPAWN, 3, [1, 'cat'], [2, 'K=V'], [5, 10], [8, 'tag'], [9, 1 << 20]),
    encodeFrame(T.START, 3),
    data(3, 0, 'hello'),
    encodeFrame(T.EOF, 3, u64(5)),
    encodeFrame(T.WINDOW, 3, Buffer.concat([u64(0), u64(1 << 20)]), 1),
    encodeFrame(T.SIGNAL, 3, Buffer.concat([u32(15), u32(1)])),
    encodeFrame(T.KILLTREE, 3),
    encodeFrame(T.CANCEL, 3),
  ],
  pty: [
    request(T.SPAWN, 3, [1, 'sh'], [5, 1], [7, Buffer.from([24, 0, 80, 0])]),
    encodeFrame(T.RESIZE, 3, Buffer.from([9, 0, 9, 0])),
    data(3, 0, 'ls\n'),
    encodeFrame(T.EOF, 3, u64(3)),
  ],
  file: [
    request(T.FILE, 3, [1, 4], [2, '/tmp/x'], [5, 4]),
    data(3, 0, 'x'.repeat(100)),
    encodeFrame(T.EOF, 3, u64(100)),
    request(T.FILE, 5, [1, 3], [2, '/tmp/x'], [10, '/tmp']),
    request(T.FILE, 9, [1, 4], [2, '/tmp/x'], [5, 2052], [8, 'nobody'], [16, 'key=value'], [16, 'other=']),
    request(T.FILE, 11, [1, 2], [2, '/tmp'], [5, 7170]),
    encodeFrame(T.PROCS, 7),
    encodeFrame(T.CANCEL, 3),
  ],
  passage: [
    request(T.FILE, 3, [1, 4], [2, '/tmp/x']),
    data(3, 0, 'x'.repeat(10_000)),
    data(3, 10_000, 'y'.repeat(9_000)),
    encodeFrame(T.EOF, 3, u64(19_000)),
  ],
  net: [
    request(T.CONNECT, 3, [1, 1], [2, 'localhost'], [3, 80]),
    data(3, 0, 'GET /'),
    encodeFrame(T.EOF, 3, u64(5)),
    request(T.LISTEN, 5, [1, 1], [3, 0], [8, 't']),
    request(T.LISTEN, 7, [1, 2], [4, '/tmp/s']),
    encodeFrame(T.RELEASE, 5),
  ],
  guest: [
    encodeFrame(T.PING, 0, Buffer.from('12345678')),
    encodeFrame(T.CLOCK, 9, u64(1)),
    encodeFrame(T.RESEED, 11, Buffer.alloc(32, 'r')),
    encodeFrame(T.SHUTDOWN, 0, u32(10)),
  ],
};

mkdirSync(directory, { recursive: true });
for (const [name, frames] of Object.entries(seeds)) {
  const content = Buffer.concat([...begin, ...frames]);
  writeFileSync(join(directory, name), Buffer.concat([Buffer.from([0xff]), content]));
  writeFileSync(join(directory, `${name}-twice`), Buffer.concat([Buffer.from([0x7f]), content, content]));
}
