import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { test } from 'node:test';
import { Limits } from '@vivarium/protocol';
import type { FnCall } from '../edge.ts';
import type { Box } from '../lifecycle/box.ts';
import { takeFiles } from './files-out.ts';

const call = (filesOut: string[], more: Partial<FnCall> = {}): FnCall => ({
  image: 'base/test@1',
  limits: Limits.parse({}),
  files: [],
  run: { argv: ['true'], timeoutMs: 1000 },
  env: {},
  cwd: '/',
  filesOut,
  filesOutBytesMax: 100,
  filesOutMax: 10,
  keepBytes: 0,
  ...more,
});

/** Files of one stated size, of which another number of bytes comes. */
function boxOf(size: number, comes = size) {
  const streams: Readable[] = [];
  let readBytes = 0;
  const read = async (_path: Buffer, { length }: { length: number }) => {
    const content = Buffer.alloc(Math.min(comes, length));
    const stream = new Readable({
      read() {
        readBytes += content.length;
        this.push(content);
        this.push(null);
      },
    });
    streams.push(stream);
    return { entry: { size, mode: 0o644 }, stream };
  };
  const box = { row: { user: null }, requireCell: () => ({ read }) } as unknown as Box;
  return { box, streams, readBytes: () => readBytes };
}
const names = (count: number) => Array.from({ length: count }, (_, i) => `f${i}`);

test('of a file that is too large nothing is read', async () => {
  const { box, streams, readBytes } = boxOf(101);
  const found = await takeFiles(box, call(['f']));
  assert.deepEqual([found.files.length, found.filesLeft.length, readBytes()], [0, 1, 0]);
  assert.ok(streams[0]!.destroyed);
});

test('after as many refused files as may come back no more are opened', async () => {
  const { box, streams } = boxOf(101);
  const found = await takeFiles(box, call(names(500)));
  assert.deepEqual([streams.length, found.filesLeft.length], [10, 500]);
});

test('files that are larger than they say are read only until twice the bound has come', async () => {
  const { box, streams, readBytes } = boxOf(0, 1000);
  const found = await takeFiles(box, call(names(9)));
  assert.deepEqual([streams.length, found.filesLeft.length], [2, 9]);
  assert.equal(readBytes(), 202);
});

test('what fits comes whole', async () => {
  const found = await takeFiles(boxOf(50).box, call(names(3)));
  assert.deepEqual([found.files.length, found.filesLeft.length], [2, 1]);
});
