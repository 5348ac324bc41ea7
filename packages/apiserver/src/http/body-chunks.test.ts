import assert from 'node:assert/strict';
import { createServer, type IncomingMessage, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { BodyChunks } from './body-chunks.ts';

let handle: (body: BodyChunks, req: IncomingMessage) => Promise<string>;
const server = createServer((req, res) => {
  handle(new BodyChunks(req), req).then(
    (text) => res.end(text),
    (error: { code?: string }) => res.writeHead(400).end(error.code),
  );
});
before(() => new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve)));
after(() => {
  server.closeAllConnections();
  server.close();
});

const send = () => request({ host: '127.0.0.1', port: (server.address() as AddressInfo).port, method: 'PUT' });
const answer = (req: ReturnType<typeof send>) =>
  new Promise<string>((resolve, reject) => {
    req.on('error', reject);
    req.on('response', async (res) => resolve(Buffer.concat(await res.toArray()).toString()));
  });

test('every byte comes once and in order, however slow the taker', async () => {
  handle = async (body) => {
    const parts: Uint8Array[] = [];
    for await (const chunk of body) {
      parts.push(chunk);
      if (parts.length % 8 === 0) await delay(1);
    }
    const all = Buffer.concat(parts);
    for (let i = 0; i < all.length / 4; i++) assert.equal(all.readUInt32LE(i * 4), i);
    return `${all.length}`;
  };
  const content = Buffer.alloc(4_000_000);
  for (let i = 0; i < content.length / 4; i++) content.writeUInt32LE(i, i * 4);
  const req = send();
  const text = answer(req);
  req.end(content);
  assert.equal(await text, '4000000');
});

test('an empty body ends at once', async () => {
  handle = async (body) => JSON.stringify(await body.next());
  const req = send();
  const text = answer(req);
  req.end();
  assert.equal(await text, '{"done":true}');
});

test('a client that goes in mid-body is connection_lost', async () => {
  const code = new Promise<string | undefined>((resolve) => {
    handle = async (body) => {
      try {
        for await (const _ of body);
        resolve(undefined);
      } catch (error) {
        resolve((error as { code?: string }).code);
      }
      return '';
    };
  });
  const req = send();
  req.on('error', () => {});
  req.write('half');
  setTimeout(() => req.destroy(), 50);
  assert.equal(await code, 'connection_lost');
});

test('what the taker leaves does not take the answer away', async () => {
  handle = async (body, req) => {
    for await (const _ of body) break;
    req.resume();
    return 'enough';
  };
  const req = send();
  const text = answer(req);
  req.end(Buffer.alloc(1_000_000));
  assert.equal(await text, 'enough');
});
