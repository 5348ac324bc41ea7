import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { type Progress, VivError } from '@vivarium/protocol';
import { type Served, served } from '../testing/served.ts';

const MIB = 1024 * 1024;

/**
 * Sends the head of an upload of 8 MiB and its first MiB, reads the answer, and only then sends the rest. Returns the answer;
 * rejects if the connection ended or broke before everything was sent.
 */
async function slowUpload(api: Served, method: string, path: string): Promise<string> {
  const socket = connect(Number(new URL(api.url).port), '127.0.0.1');
  let text = '';
  let ended = false;
  socket.setNoDelay(true).setEncoding('utf8');
  socket.on('data', (chunk: string) => {
    text += chunk;
  });
  socket.on('end', () => {
    ended = true;
  });
  const broken = new Promise<never>((_, reject) => socket.on('error', reject));
  broken.catch(() => {});
  const send = (bytes: number | string) =>
    new Promise<void>((resolve) => {
      socket.write(typeof bytes === 'string' ? bytes : Buffer.alloc(bytes), () => resolve());
    });
  const upload = async () => {
    await send(
      `${method} ${path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${api.secret}\r\ncontent-length: ${8 * MIB}\r\n\r\n`,
    );
    await send(MIB);
    while (!text.includes('"error"')) await delay(1);
    for (let sent = 1; sent < 8; sent++) {
      assert.equal(ended, false, 'the connection ended in the middle of the body');
      await send(MIB);
    }
    return text;
  };
  try {
    const answer = await Promise.race([upload(), broken]);
    socket.end();
    if (!socket.closed) await Promise.race([once(socket, 'close'), broken]);
    return answer;
  } finally {
    socket.destroy();
  }
}

test('a refused upload is answered whole before the connection ends, whether its body was begun or not', async () => {
  await using api = await served();
  const { id } = await api.create();
  const untouched = await slowUpload(api, 'PUT', `/v1/sandboxes/${id}/files/content?path=/proc/x`);
  assert.match(untouched, /^HTTP\/1.1 403 .*"path_denied"/s);
  api.edge.files.write = async (_sandbox, _path, body) => {
    for await (const _ of body) break;
    throw new VivError('disk_full', 'no room');
  };
  const begun = await slowUpload(api, 'PUT', `/v1/sandboxes/${id}/files/content?path=/f`);
  assert.match(begun, /"disk_full"/);
});

test('a refused import reaches the client with its own error, before and after its first progress', async () => {
  await using api = await served();
  const refuse = async function* (_: unknown, body: AsyncIterable<Uint8Array>, progress: boolean) {
    for await (const _chunk of body) break;
    if (progress) yield { type: 'progress', message: 'reading' } as unknown as Progress;
    throw new VivError('import_failed', 'this is no tar');
  };
  for (const progress of [false, true]) {
    api.edge.images.importTar = (request, body) => refuse(request, body, progress);
    const answer = await slowUpload(api, 'POST', '/v1/images/import-tar?name=t@1');
    assert.match(answer, progress ? /^HTTP\/1.1 200 .*"import_failed"/s : /"import_failed"/);
    const fetched = await api.call('POST', '/v1/images/import-tar?name=t@1', Buffer.alloc(4 * MIB));
    assert.match(fetched.text, /"import_failed"/);
  }
});
