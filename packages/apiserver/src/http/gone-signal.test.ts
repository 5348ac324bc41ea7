import assert from 'node:assert/strict';
import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { test } from 'node:test';
import { setImmediate as breathe } from 'node:timers/promises';
import { goneSignal } from './gone-signal.ts';

test('the signal of a client that has gone is aborted, also when it is asked for afterwards', async () => {
  const response = () => new ServerResponse(new IncomingMessage(new Socket()));
  const [early, late] = [response(), response()];
  const signal = goneSignal(early);
  assert.equal(signal.aborted, false);
  for (const res of [early, late]) res.destroy();
  await breathe();
  assert.deepEqual([signal.aborted, goneSignal(late).aborted], [true, true]);
});
