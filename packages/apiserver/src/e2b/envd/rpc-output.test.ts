import assert from 'node:assert/strict';
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
