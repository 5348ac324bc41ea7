import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Guest, type Link } from './guest.ts';
import { encodeFrame, T, tlv, u32, u64 } from './wire.ts';

let guest: Guest;

before(() => {
  guest = new Guest();
});
after(() => guest.close());

const violations: [string, (link: Link) => void][] = [
  ['an unknown type', (link) => link.send(0x77, 1)],
  ['an upward type', (link) => link.send(T.READY, 0)],
  ['a second HELLO', (link) => link.send(T.HELLO, 0, Buffer.concat([Buffer.from([1, 0, 0, 0]), Buffer.alloc(16)]))],
  ['a frame that is too long', (link) => link.socket.write(encodeFrame(T.FILE, 5, Buffer.alloc(16_385)))],
  ['a reserved bit', (link) => link.socket.write(Buffer.from([0, 0, 0, 0, T.START, 0, 1, 0, 3, 0, 0, 0]))],
  ['an even stream', (link) => link.send(T.PROCS, 2)],
  ['no stream', (link) => link.send(T.PROCS, 0)],
  ['a stream in use', (link) => link.socket.write(Buffer.concat([spawn(33), spawn(33)]))],
  ['data beyond the window', (link) => overrun(link, 0, 70_000)],
  ['data that skips', (link) => overrun(link, 1, 1)],
  ['an early RELEASE', (link) => link.socket.write(Buffer.concat([spawn(35), encodeFrame(T.RELEASE, 35)]))],
];

function spawn(id: number): Buffer {
  return encodeFrame(
    T.SPAWN,
    id,
    tlv([
      [1, 'sleep'],
      [1, '5'],
      [5, 2],
    ]),
  );
}

function overrun(link: Link, offset: number, bytes: number): void {
  const id = link.id() + 40;
  const frames = [
    encodeFrame(
      T.SPAWN,
      id,
      tlv([
        [1, 'sleep'],
        [1, '5'],
        [5, 2 | 8],
      ]),
    ),
  ];
  for (let at = 0; at < bytes; at += 60_000) {
    const piece = Buffer.alloc(Math.min(60_000, bytes - at));
    frames.push(encodeFrame(T.DATA, id, Buffer.concat([u64(offset + at), piece])));
  }
  link.socket.write(Buffer.concat(frames));
}

for (const [what, send] of violations) {
  test(`${what} ends the connection, and the next one works`, async () => {
    const link = await guest.open();
    send(link);
    await link.closing();
    const next = await guest.open();
    for (const { stream } of next.states) next.send(T.CANCEL, stream);
    await next.ping();
    next.close();
  });
}

test('a request before HELLO ends the connection', async () => {
  const link = await guest.open({ hello: false });
  link.send(T.PING, 0, Buffer.alloc(8));
  await link.closing();
});

test('before CONFIG only HELLO, PING and CONFIG are taken, and CONFIG once', async () => {
  const own = new Guest();
  try {
    const link = await own.open({ config: false });
    await link.ping();
    for (const type of [T.SPAWN, T.FILE, T.PROCS, T.CONNECT, T.LISTEN]) {
      link.send(type, 5, type === T.PROCS ? undefined : tlv([[1, 'x']]));
      assert.equal((await link.takeFail(5)).stage, 14);
    }
    link.send(T.CONFIG, 7, tlv([[99, 'unknown']]));
    assert.deepEqual({ ...(await link.takeFail(7)) }, { errno: 22, stage: 1 });
    link.send(T.CONFIG, 7, tlv([]));
    await link.take(7, T.OK);
    link.send(T.CONFIG, 7, tlv([]));
    assert.equal((await link.takeFail(7)).stage, 14);
  } finally {
    await own.close();
  }
});

test('late frames on a stream that has ended are ignored', async () => {
  const link = await guest.open();
  link.grant(999, 1, 0, 10);
  link.data(999, 0, 'x');
  link.eof(999, 1);
  for (const type of [T.START, T.RELEASE, T.CANCEL, T.KILLTREE]) link.send(type, 999);
  link.send(T.SIGNAL, 999, Buffer.concat([u32(9), u32(0)]));
  await link.ping();
  link.close();
});

test('more processes than the bound are refused', { skip: process.env.VIV_INIT !== undefined }, async () => {
  const own = new Guest();
  try {
    const link = await own.open();
    const ids: number[] = [];
    for (let i = 0; i < 1024; i++) {
      const { id } = await link.spawn(['true']);
      ids.push(id);
    }
    const over = link.id();
    link.send(T.SPAWN, over, tlv([[1, 'true']]));
    assert.deepEqual({ ...(await link.takeFail(over)) }, { errno: 28, stage: 2 });
    for (const id of ids) {
      await link.exit(id);
      link.send(T.RELEASE, id);
    }
    assert.equal((await link.run(['true'])).code, 0);
  } finally {
    await own.close();
  }
});

test('more listeners than the bound are refused', async () => {
  const link = await guest.open();
  const ids: number[] = [];
  for (let i = 0; i < 65; i++) {
    const id = link.id();
    ids.push(id);
    link.send(
      T.LISTEN,
      id,
      tlv([
        [1, 1],
        [3, 0],
      ]),
    );
    if (i < 64) await link.take(id, T.OK);
    else assert.deepEqual({ ...(await link.takeFail(id)) }, { errno: 28, stage: 2 });
  }
  for (const id of ids) link.send(T.RELEASE, id);
  await link.ping();
  link.close();
});
