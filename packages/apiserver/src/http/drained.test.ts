import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import { test } from 'node:test';
import { drained } from './drained.ts';

test('waiting for a slow reader leaves nothing behind', async () => {
  const stream = new EventEmitter();
  for (const event of ['drain', 'close']) {
    const waiting = drained(stream as never);
    stream.emit(event);
    await waiting;
  }
  assert.deepEqual(stream.eventNames(), []);
});
