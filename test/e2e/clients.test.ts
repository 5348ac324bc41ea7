import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { after, before, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { type Sandbox, Vivarium } from '@vivarium/sdk';
import { call } from '../harness/http.ts';
import { IMAGE, startTestNode, type TestNode } from '../harness/node.ts';

let node: TestNode;
let sandbox: Sandbox;

before(async () => {
  node = await startTestNode();
  sandbox = await node.viv.sandboxes.create({ image: IMAGE });
});
after(() => node.purge());

test('a thousand connections that send nothing do not disturb the others', async () => {
  const port = Number(new URL(node.url).port);
  const idle: Socket[] = [];
  try {
    for (let n = 0; n < 1000; n += 1) {
      const socket = connect(port, '127.0.0.1');
      socket.on('error', () => {});
      idle.push(socket);
      if (n % 100 === 99) await once(socket, 'connect');
    }
    const result = await sandbox.exec(['echo', 'undisturbed']);
    assert.equal(result.stdout, 'undisturbed\n');
  } finally {
    for (const socket of idle) socket.destroy();
  }
});

test('a client that vanishes in mid-stream loses nothing: the command goes on and another client gets it all', async () => {
  const passing = new Vivarium({ url: node.url, apiKey: node.key });
  const script = 'i=0; while [ $i -lt 200 ]; do echo line $i; i=$((i+1)); sleep 0.01; done';
  const process = await (await passing.sandboxes.get(sandbox.id)).spawn(script);
  await process.stdout[Symbol.asyncIterator]().next();
  passing.close();
  const result = await (await sandbox.attach(process.id)).result();
  assert.equal(result.exitCode, 0);
  assert.equal(result.stdout, Array.from({ length: 200 }, (_, n) => `line ${n}\n`).join(''));
});

test('a reader that stops reading makes the writer wait instead of filling the server', async () => {
  const process = await sandbox.spawn('head -c 300M /dev/zero; echo end >&2');
  const output = process.stdout[Symbol.asyncIterator]();
  await output.next();
  const before = rssMiB(node.serverPid());
  await delay(2000);
  assert.equal((await call(node, 'GET', `/v1/sandboxes/${sandbox.id}/execs/${process.id}`)).body.state, 'running');
  assert.ok(rssMiB(node.serverPid()) - before < 64, 'the server holds a bounded part');
  await process.kill();
});

test('an upload that breaks off leaves the old file', async () => {
  await sandbox.files.write('/tmp/kept', 'old contents');
  const port = Number(new URL(node.url).port);
  const socket = connect(port, '127.0.0.1');
  await once(socket, 'connect');
  const path = `/v1/sandboxes/${sandbox.id}/files/content?path=%2Ftmp%2Fkept`;
  const head = `PUT ${path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${node.key}\r\ncontent-type: application/octet-stream\r\ncontent-length: 10000000\r\n\r\n`;
  socket.write(head);
  socket.write('x'.repeat(100_000));
  await delay(200);
  socket.destroy();
  await delay(200);
  assert.equal(await sandbox.files.readText('/tmp/kept'), 'old contents');
});

function rssMiB(pid: number): number {
  return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024;
}
