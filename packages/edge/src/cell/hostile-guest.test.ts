import assert from 'node:assert/strict';
import { test } from 'node:test';
import { VivError } from '@vivarium/protocol';
import type { Cell } from './cell.ts';
import { Command } from './fixture/command.ts';
import { dataFrame, eofFrame, exitedFrame, FakeGuest, processState, raw, tlv, words } from './fixture/fake-guest.ts';
import { FRAME } from './frame.ts';

/** Runs one process as far as `running` on stream 1 (stdin open) and returns the guest to misbehave with. */
async function running(): Promise<{ guest: FakeGuest; cell: Cell; command: Command }> {
  const guest = new FakeGuest();
  guest.on((frame) => {
    if (frame.type === FRAME.SPAWN) guest.say(raw(FRAME.SPAWNED, 0, frame.stream, words(5)));
    if (frame.type === FRAME.START) guest.say(raw(FRAME.OK, 0, frame.stream));
    if (frame.type === FRAME.PING) guest.say(raw(FRAME.PONG, 0, 0, frame.payload));
  });
  const cell = await guest.open();
  return { guest, cell, command: await Command.run(cell, { argv: ['x'], stdin: true }) };
}

const window = (acked: number, limit: number): Buffer => raw(FRAME.WINDOW, 0, 1, words(acked, 0, limit, 0));

const MISDEEDS: Record<string, Buffer[]> = {
  'random bytes': [Buffer.from('GET / HTTP/1.1\r\nHost: localhost\r\n\r\n')],
  'data at the wrong offset': [dataFrame(1, 1, 5, 'x')],
  'data again from the start': [dataFrame(1, 1, 0, 'x'), dataFrame(1, 1, 0, 'x')],
  'more data than it was allowed': [
    dataFrame(1, 1, 0, Buffer.alloc(65_536)),
    dataFrame(2, 1, 0, 'x'),
    dataFrame(2, 1, 1, Buffer.alloc(65_536)),
  ],
  'data after the end': [eofFrame(1, 1, 0), dataFrame(1, 1, 0, 'x')],
  'an end in the middle': [dataFrame(1, 1, 0, 'x'), eofFrame(1, 1, 9)],
  'data on channel 0': [dataFrame(0, 1, 0, 'x')],
  'EXITED twice': [exitedFrame(1), exitedFrame(1)],
  'an impossible exit code': [exitedFrame(1, 300)],
  'SPAWNED twice': [raw(FRAME.SPAWNED, 0, 1, words(6))],
  'OK twice': [raw(FRAME.OK, 0, 1)],
  'FAIL of a running process': [raw(FRAME.FAIL, 0, 1, words(2, 6))],
  'a frame on a stream that never was': [raw(FRAME.OK, 0, 99)],
  'data on a stream that never was': [dataFrame(1, 99, 0, 'x')],
  'data on an even stream that never was': [dataFrame(1, 98, 0, 'x')],
  'a connection from what is no listener': [raw(FRAME.OPENED, 0, 2, words(1))],
  'a connection from a listener that never was': [raw(FRAME.OPENED, 0, 2, words(77))],
  'a connection on an odd stream': [raw(FRAME.OPENED, 0, 3, words(1))],
  'an acknowledgement of what was not sent': [window(1, 70_000)],
  'a window that shrinks': [window(0, 1)],
  'PONG without PING': [raw(FRAME.PONG, 0, 0, words(0, 0))],
  'HELLO again': [new FakeGuest().hello()],
  'STATE again': [processState(1, 5, 2)],
  'READY again': [raw(FRAME.READY, 0, 0)],
};

for (const [name, frames] of Object.entries(MISDEEDS)) {
  test(`${name} ends the connection; the next one goes on with the process`, async () => {
    const { guest, cell, command } = await running();
    guest.states = () => [raw(FRAME.STATE, 0, 1, resumable(command))];
    guest.say(...frames);
    await cell.ping().catch(() => {});
    await cell.ping();
    assert.equal(cell.stats.protocolErrors, 1);
    assert.equal(guest.connects, 2);
    cell.close();
  });
}

/** STATE payload that agrees with what the command has received. */
function resumable(command: Command): Buffer {
  const output = (chan: 1 | 2): Buffer => {
    const block = Buffer.alloc(17);
    block.writeUInt32LE(command.received[chan] as number, 8);
    return block;
  };
  const exit: [number, Buffer][] = command.exited ? [[4, words(0, 0, 0, 0, 0, 0, 0, 0)]] : [];
  const phase = command.exited ? 3 : 2;
  return tlv(
    [1, words(1)],
    [2, words(5)],
    [3, words(phase)],
    [5, output(1)],
    [6, output(2)],
    [7, Buffer.alloc(8)],
    ...exit,
  );
}

const HANDSHAKES: Record<string, (guest: FakeGuest) => void> = {
  'another protocol version': (guest) => {
    guest.greeting = raw(FRAME.HELLO_UP, 0, 0, Buffer.alloc(28, 2));
  },
  'no HELLO first': (guest) => {
    guest.greeting = raw(FRAME.READY, 0, 0);
  },
  'data before READY': (guest) => {
    guest.states = () => [dataFrame(1, 1, 0, 'x')];
  },
  'the same stream twice': (guest) => {
    guest.states = () => [processState(1, 5, 2), processState(1, 6, 2)];
  },
  'a process on an even stream': (guest) => {
    guest.states = () => [processState(2, 5, 2)];
  },
  'a process in no phase': (guest) => {
    guest.states = () => [processState(1, 5, 9 as 1)];
  },
  'a STATE with an unknown tag': (guest) => {
    guest.states = () => [raw(FRAME.STATE, 0, 1, tlv([1, words(2)], [44, words(1)]))];
  },
  'a STATE that is cut off': (guest) => {
    guest.states = () => [raw(FRAME.STATE, 0, 1, words(1, 400))];
  },
  'processes although it is not configured': (guest) => {
    guest.configured = false;
    guest.states = () => [processState(1, 5, 2)];
  },
  'more processes than there can be': (guest) => {
    guest.states = () => Array.from({ length: 1089 }, (_, index) => processState(index * 2 + 1, 5, 2));
  },
};

for (const [name, misbehave] of Object.entries(HANDSHAKES)) {
  test(`a handshake with ${name} makes open() reject, with few attempts`, async () => {
    const guest = new FakeGuest();
    misbehave(guest);
    await assert.rejects(guest.open(), (error) => error instanceof VivError && error.code === 'sandbox_lost');
    assert.ok(guest.connects <= 4, `${guest.connects} attempts`);
  });
}

test('a guest that goes on breaking the protocol is lost after the fourth time', async () => {
  const guest = new FakeGuest();
  const lost = Promise.withResolvers<VivError>();
  const cell = await guest.open({ onLost: lost.resolve });
  guest.states = () => [raw(FRAME.STATE, 0, 9, tlv([1, words(2)], [8, Buffer.from('t')])), raw(FRAME.READY, 0, 0)];
  guest.say(raw(FRAME.OK, 0, 99));
  const error = await lost.promise;
  assert.equal(error.code, 'sandbox_lost');
  assert.equal(error.fault, 'agent');
  assert.equal(guest.connects, 4);
  await assert.rejects(cell.ping(), { code: 'sandbox_lost' });
});

test('another boot nonce means that this is not the sandbox any more', async () => {
  const guest = new FakeGuest();
  const lost = Promise.withResolvers<VivError>();
  await guest.open({ onLost: lost.resolve });
  guest.bootNonce = Buffer.alloc(16, 8);
  guest.hangUp();
  assert.equal((await lost.promise).code, 'sandbox_lost');
  assert.equal(guest.connects, 2);
});

test('control frames that nothing asked for are counted, and end the connection', async () => {
  const { guest, cell } = await running();
  guest.states = () => [processState(1, 5, 2)];
  const before = guest.connects;
  for (let i = 0; i < 100; i++) guest.say(...Array.from({ length: 100 }, () => window(0, 65_536)));
  await cell.ping().catch(() => {});
  assert.ok(guest.connects > before);
  assert.ok(cell.stats.protocolErrors > 0);
  cell.close();
});

test('late data of a canceled stream is ignored up to its window, not beyond', async () => {
  const { guest, cell, command } = await running();
  command.process.cancel();
  await guest.heard(FRAME.CANCEL);
  for (const chan of [1, 2]) guest.say(dataFrame(chan, 1, 0, Buffer.alloc(65_536)));
  await cell.ping();
  assert.equal(cell.stats.protocolErrors, 0);
  guest.say(dataFrame(1, 1, 65_536, 'x'));
  await cell.ping().catch(() => {});
  assert.equal(cell.stats.protocolErrors, 1);
  cell.close();
});

test('a listing with a record that lies about its length fails, and only the connection with it', async () => {
  for (const length of [0, 3, 4, 59, 30_000, 0xffff_ffff]) {
    const guest = new FakeGuest();
    const record = Buffer.alloc(64);
    record.writeUInt32LE(length, 0);
    record[4] = 1;
    guest.on((frame) => frame.type === FRAME.FILE && guest.say(dataFrame(1, frame.stream, 0, record)));
    const cell = await guest.open();
    await assert.rejects(async () => {
      for await (const _ of cell.list(Buffer.from('/'))) assert.fail('an entry');
    }, VivError);
    assert.equal(cell.stats.protocolErrors, 1);
    cell.close();
  }
});

test('messages of the guest carry no control characters', async () => {
  const guest = new FakeGuest();
  const evil = Buffer.concat([words(2, 10), Buffer.from('no \x1b[31mway\n')]);
  guest.on((frame) => frame.type === FRAME.FILE && guest.say(raw(FRAME.FAIL, 0, frame.stream, evil)));
  const cell = await guest.open();
  await assert.rejects(cell.stat(Buffer.from('/x')), (error) => {
    assert.ok(error instanceof VivError);
    assert.equal(error.code, 'path_not_found');
    assert.ok(!/\p{Cc}/u.test(error.message));
    return true;
  });
  cell.close();
});
