import assert from 'node:assert/strict';
import { test } from 'node:test';
import { collect, Vivarium } from '@vivarium/sdk';
import { fakeSandbox } from '@vivarium/sdk/testing/fake-exec.ts';
import { FakeServer } from '@vivarium/sdk/testing/fake-server.ts';
import { findSandbox, pick } from './sandbox-name.ts';

const id = (letter: string) => letter.padEnd(20, '0');

test('a name, a unique beginning and a live one before an ended one are found; anything else says why', async () => {
  const server = await FakeServer.start();
  const viv = new Vivarium({ url: server.url, apiKey: 'k', retryMs: 0 });
  const items = [
    fakeSandbox({ id: id('abc'), name: 'web' }),
    fakeSandbox({ id: id('abd') }),
    fakeSandbox({ id: id('xyz'), name: 'web', state: 'ended' }),
    fakeSandbox({ id: id('we'), name: null }),
  ];
  server.routes.set('GET /v1/sandboxes', { json: { items, nextCursor: null } });
  try {
    const all = await collect(viv.sandboxes.list());
    assert.equal(pick(all, 'web').id, id('abc'));
    assert.equal(pick(all, 'abd').id, id('abd'));
    assert.equal(pick(all, 'xy').id, id('xyz'));
    assert.throws(() => pick(all, 'ab'), { code: 'invalid_argument', message: /`ab` fits 2 sandboxes: abc0+, abd0+/ });
    assert.throws(() => pick(all, 'zz'), { code: 'sandbox_not_found' });
    server.seen.length = 0;
    assert.equal((await findSandbox(viv, id('q'))).id, id('q'));
    assert.equal(server.seen.length, 0, 'a whole id costs no request');
  } finally {
    viv.close();
    await server.close();
  }
});
