import assert from 'node:assert/strict';
import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { Readable } from 'node:stream';
import { test } from 'node:test';
import { served } from '../testing/served.ts';
import { bytes } from './answer.ts';

test('a line does not wait for the next one', async () => {
  await using api = await served();
  const { id } = await api.create();
  const more = Promise.withResolvers<void>();
  api.edge.sandboxes.changes = async function* () {
    yield { path: '/a', change: 'added', type: 'file', sizeBytes: 1 };
    await more.promise;
    yield { path: '/b', change: 'added', type: 'file', sizeBytes: 1 };
  };
  const response = await fetch(`${api.url}/v1/sandboxes/${id}/changes`, {
    headers: { authorization: `Bearer ${api.secret}` },
  });
  const reader = response.body!.getReader();
  assert.match(Buffer.from((await reader.read()).value!).toString(), /"\/a"/);
  more.resolve();
  assert.match(Buffer.from((await reader.read()).value!).toString(), /"\/b"/);
});

test('lines are taken from the source only as fast as they are read, and the source is told when the reader leaves', async () => {
  await using api = await served();
  const { id } = await api.create();
  let made = 0;
  const ended = Promise.withResolvers<void>();
  api.edge.sandboxes.changes = async function* () {
    try {
      for (;;) {
        made++;
        yield { path: `/${'x'.repeat(1000)}`, change: 'added', type: 'file', sizeBytes: 1 };
      }
    } finally {
      ended.resolve();
    }
  };
  const stop = new AbortController();
  const response = await fetch(`${api.url}/v1/sandboxes/${id}/changes`, {
    headers: { authorization: `Bearer ${api.secret}` },
    signal: stop.signal,
  });
  assert.equal(response.status, 200);
  let before = -1;
  while (before !== made) {
    before = made;
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
  assert.ok(made < 30_000, `${made} lines of 1 KB were made for a reader that takes none`);
  stop.abort();
  await ended.promise;
});

test('a stream whose answer was given already is not left open', async () => {
  const res = new ServerResponse(new IncomingMessage(new Socket()));
  res.writeHead(502).end();
  const stream = Readable.from(['content']);
  await assert.rejects(async () => bytes(stream, 200, {}).send(res), { code: 'ERR_HTTP_HEADERS_SENT' });
  assert.equal(stream.destroyed, true);
});
