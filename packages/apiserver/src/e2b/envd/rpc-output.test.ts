import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import type { ServerResponse } from 'node:http';
import { test } from 'node:test';
import { RpcOutput } from './rpc-output.ts';

test('a stream that is over is not kept alive by a method that is late', (t) => {
  const armed = t.mock.method(globalThis, 'setInterval');
  const output = () => new RpcOutput({ destroyed: true, writableLength: 0 } as ServerResponse, null, '1');
  const [ended, open] = [output(), output()];
  ended.end();
  ended.keepAlive({});
  assert.equal(armed.mock.callCount(), 0);
  open.keepAlive({});
  assert.equal(armed.mock.callCount(), 1);
  open.stop();
});

test('a message to a client that is behind waits until it has read, and fails when it leaves', async () => {
  const res = Object.assign(new EventEmitter(), {
    destroyed: false,
    headersSent: true,
    writableLength: 2 ** 20,
    write() {},
  });
  const output = new RpcOutput(res as unknown as ServerResponse, null, undefined);
  for (let i = 0; i < 3; i++) {
    const sent = output.send({});
    res.emit('drain');
    await sent;
  }
  const lost = assert.rejects(Promise.resolve(output.send({})), { code: 'connection_lost' });
  res.destroyed = true;
  res.emit('close');
  await lost;
  assert.deepEqual(res.eventNames(), []);
});
