import assert from 'node:assert/strict';
import { once } from 'node:events';
import { Readable } from 'node:stream';
import { test } from 'node:test';
import type { Box } from '../lifecycle/box.ts';
import { followRead, type Note } from './followed-read.ts';
import { Tally } from './tally.ts';

/** What the journal has of a read of five bytes, of which `come` come before the reader leaves. */
async function readAndLeave(come: number, whole?: number): Promise<Note> {
  const box = { open: 0, touch() {} } as Box;
  const tally = new Tally();
  const stream = new Readable({ read() {} });
  const notes: Note[] = [];
  followRead(box, stream, tally, (note) => notes.push(note), { offset: 1 }, whole);
  assert.equal(box.open, 1);
  tally.add(Buffer.from('12345').subarray(0, come));
  stream.destroy();
  await once(stream, 'close');
  assert.equal(box.open, 0);
  assert.equal(notes.length, 1);
  return notes[0]!;
}

test('a read is complete when all bytes came, also if its reader does not wait for the end', async () => {
  assert.equal((await readAndLeave(5, 5)).complete, undefined);
  assert.equal((await readAndLeave(4, 5)).complete, false);
  assert.equal((await readAndLeave(5)).complete, false, 'how many there are is not known');
});
