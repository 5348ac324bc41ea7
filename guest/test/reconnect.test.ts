import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { Guest, type Link } from './guest.ts';
import { encodeFrame, T, tlv, u64 } from './wire.ts';

const PHASE = 3;
const EXIT = 4;
const OUT1 = 5;
const IN = 7;
const STATE_TAG = 8;
const WAIT = 8;
const STDIN = 2;

async function withGuest(body: (guest: Guest) => Promise<void>): Promise<void> {
  const guest = new Guest();
  try {
    await body(guest);
  } finally {
    await guest.close();
  }
}

function stateOf(link: Link, id: number): Map<number, Buffer> {
  const found = link.states.find((state) => state.stream === id);
  assert.ok(found, `no STATE for ${id}`);
  return found.state;
}

test('output goes on after a break in its middle with exact bytes and offsets', () =>
  withGuest(async (guest) => {
    let link = await guest.open();
    const { id } = await link.spawn(
      ['sh', '-c', 'seq 1 300000'],
      [
        [8, 'my tag'],
        [9, 200_000],
      ],
    );
    const expected = Array.from({ length: 300_000 }, (_, i) => `${i + 1}\n`).join('');
    let text = '';
    for (let round = 0; round < 5; round++) {
      // Takes a few frames, keeps only a part of what came, and breaks off.
      for (let i = 0; i < 2; i++) {
        const frame = await link.takeWhere((f) => f.stream === id && f.type === T.DATA, 'data');
        assert.equal(Number(frame.payload.readBigUInt64LE(0)), text.length);
        text += frame.payload.subarray(8).toString();
        if (i === 0) link.grant(id, 1, text.length, text.length + 200_000);
      }
      text = text.slice(0, text.length - 1000);
      link.close();
      const nonce = link.bootNonce;
      link = await guest.open();
      assert.deepEqual(link.bootNonce, nonce);
      assert.ok(link.configured);
      const state = stateOf(link, id);
      assert.equal(String(state.get(STATE_TAG)), 'my tag');
      assert.ok(Number(state.get(OUT1)?.readBigUInt64LE(0)) <= text.length);
      await sleep(20);
      assert.equal(link.frames.length, 0, 'nothing before the host says what it has');
      link.grant(id, 1, text.length, text.length + 200_000);
    }
    text += String(await link.collect(id, 1, { from: text.length }));
    assert.ok(text === expected);
  }));

test('half a frame at the break is forgotten', () =>
  withGuest(async (guest) => {
    const first = await guest.open();
    const { id } = await first.spawn(['cat'], [[5, STDIN]]);
    first.data(id, 0, 'abc');
    await first.ping();
    const frame = encodeFrame(T.DATA, id, Buffer.concat([u64(3), Buffer.from('never to be seen')]));
    first.socket.write(frame.subarray(0, 20));
    await sleep(20);
    first.close();
    const second = await guest.open();
    assert.equal(stateOf(second, id).get(IN)?.readBigUInt64LE(0), 3n);
    second.data(id, 3, 'def');
    second.eof(id, 6);
    second.grant(id, 1, 0, 65_536);
    assert.equal(String(await second.collect(id, 1)), 'abcdef');
    second.send(T.RELEASE, id);
  }));

test('a waiting child is still waiting after a reconnect', () =>
  withGuest(async (guest) => {
    const first = await guest.open();
    const { id, pid } = await first.spawn(['echo', 'late'], [[5, WAIT]]);
    first.close();
    const second = await guest.open();
    const state = stateOf(second, id);
    assert.deepEqual([state.get(2)?.readUInt32LE(0), state.get(PHASE)?.readUInt32LE(0)], [pid, 1]);
    second.grant(id, 1, 0, 100);
    second.send(T.START, id);
    await second.take(id, T.OK);
    assert.equal(String(await second.collect(id, 1)), 'late\n');
  }));

test('what ended while no host was there is told to the next one, until it is released', () =>
  withGuest(async (guest) => {
    const first = await guest.open();
    const { id } = await first.spawn(['sh', '-c', 'sleep 0.2; echo over; exit 5']);
    first.close();
    await sleep(500);
    for (let round = 0; round < 2; round++) {
      const link = await guest.open();
      const state = stateOf(link, id);
      assert.equal(state.get(PHASE)?.readUInt32LE(0), 3);
      assert.equal(state.get(EXIT)?.readUInt32LE(4), 5);
      assert.equal(state.get(OUT1)?.[16], 1);
      const from = Number(state.get(OUT1)?.readBigUInt64LE(0));
      assert.equal(from, round === 0 ? 0 : 5, 'what was acknowledged is gone');
      link.grant(id, 1, from, 100);
      assert.equal(String(await link.collect(id, 1, { from })), round === 0 ? 'over\n' : '');
      if (round === 1) link.send(T.RELEASE, id);
      await link.ping();
      link.close();
    }
    assert.equal((await guest.open()).states.length, 0);
  }));

test('an execve that fails while no host is there is told to the next one', () =>
  withGuest(async (guest) => {
    const first = await guest.open();
    const { id } = await first.spawn(['nonesuch'], [[5, WAIT]]);
    first.socket.end(encodeFrame(T.START, id));
    await sleep(200);
    const second = await guest.open();
    // Either the failure came while the first connection was up and went with it, or it is told now.
    if (second.states.length) assert.deepEqual((await second.takeFail(id)).errno, 2);
    await second.ping();
    second.close();
    assert.equal((await guest.open()).states.length, 0);
  }));

test('a new connection takes the place of the old one', () =>
  withGuest(async (guest) => {
    const first = await guest.open();
    const second = await guest.open();
    await first.closing();
    await second.ping();
  }));

test('file streams and connections end with the host, listeners stay and keep what waits', () =>
  withGuest(async (guest) => {
    const first = await guest.open();
    first.send(
      T.LISTEN,
      101,
      tlv([
        [1, 2],
        [4, `${guest.dir}/inside`],
        [8, 'ear'],
      ]),
    );
    await first.take(101, T.OK);
    first.send(
      T.FILE,
      103,
      tlv([
        [1, 4],
        [2, `${guest.dir}/file`],
      ]),
    );
    first.send(
      T.CONNECT,
      105,
      tlv([
        [1, 2],
        [4, `${guest.dir}/inside`],
      ]),
    );
    await first.take(105, T.OK);
    await first.takeWhere((f) => f.type === T.OPENED, 'opened');
    first.close();
    const { connect } = await import('node:net');
    const waiting = connect(`${guest.dir}/inside`);
    waiting.write('patience');
    await sleep(100);
    const second = await guest.open();
    assert.deepEqual(
      second.states.map((state) => state.stream),
      [101],
    );
    assert.equal(String(stateOf(second, 101).get(STATE_TAG)), 'ear');
    const opened = await second.takeWhere((f) => f.type === T.OPENED, 'opened');
    const data = await second.take(opened.stream, T.DATA);
    assert.equal(data.payload.subarray(8).toString(), 'patience');
    waiting.destroy();
    assert.equal(guest.children().size, 0, 'the file worker went with its stream');
  }));
