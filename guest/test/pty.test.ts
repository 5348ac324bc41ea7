import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Guest, type Link } from './guest.ts';
import { T, type TlvItem } from './wire.ts';

const PTY: TlvItem = [5, 1];
const size = (rows: number, cols: number): Buffer => Buffer.from([rows, 0, cols, 0]);

let guest: Guest;
let link: Link;

before(async () => {
  guest = new Guest();
  link = await guest.open();
});
after(() => guest.close());

/** Output so far, until it fits; acknowledged only at the end. */
async function until(id: number, pattern: RegExp): Promise<string> {
  let text = '';
  while (!pattern.test(text)) {
    const frame = await link.takeWhere(
      (f) => f.stream === id && f.type === T.DATA,
      `${pattern} in ${JSON.stringify(text)}`,
    );
    text += frame.payload.subarray(8).toString();
  }
  return text;
}

async function end(id: number): Promise<{ kind: number; code: number }> {
  const exit = await link.exit(id);
  link.send(T.RELEASE, id);
  return exit;
}

test('a terminal has the size it was given, and the one it is given later', async () => {
  const { id } = await link.spawn(
    ['sh', '-c', 'stty size; trap "stty size; exit" WINCH; echo ready; while :; do sleep 0.01; done'],
    [PTY, [7, size(24, 80)]],
  );
  assert.match(await until(id, /ready/), /^24 80\r\n/);
  link.send(T.RESIZE, id, size(30, 90));
  await until(id, /30 90\r\n/);
  assert.deepEqual(await end(id), { kind: 0, code: 0 });
});

test('it is the controlling terminal: Ctrl-C interrupts', async () => {
  const { id } = await link.spawn(['sh', '-c', 'test -t 0 && test -t 2 && echo tty > /dev/tty'], [PTY]);
  assert.equal(String(await link.collect(id, 1)), 'tty\r\n');
  assert.equal((await end(id)).code, 0);
  // Not through a shell: dash loses a SIGINT that comes between its fork and execve.
  const sleeper = await link.spawn(['sleep', '30'], [PTY]);
  await link.take(sleeper.id, T.OK);
  link.data(sleeper.id, 0, '\x03');
  assert.deepEqual(await end(sleeper.id), { kind: 1, code: 2 });
});

test('the end of input is typed, also after half a line', async () => {
  for (const text of ['line\n', 'half']) {
    const { id } = await link.spawn(['sh', '-c', 'stty -echo; echo ready; cat; echo over'], [PTY]);
    await until(id, /ready\r\n/);
    link.data(id, 0, text);
    link.eof(id, text.length);
    assert.ok((await until(id, /over/)).startsWith(text.replace('\n', '\r\n')));
    await end(id);
  }
});

test('all output arrives although the command ends at once', async () => {
  for (let i = 0; i < 20; i++) {
    const { id } = await link.spawn(['sh', '-c', 'seq 1 3000'], [PTY]);
    const text = String(await link.collect(id, 1));
    assert.ok(text.endsWith('3000\r\n'), text.slice(-40));
    await end(id);
  }
});

test('a background child on the terminal does not hold the command', async () => {
  const { id } = await link.spawn(['sh', '-c', 'trap "" HUP; (trap "" HUP; sleep 3; echo late) & echo now'], [PTY]);
  assert.equal(String(await link.collect(id, 1)), 'now\r\n');
  assert.equal((await end(id)).code, 0);
});

test('the terminal belongs to the user', async () => {
  const { id } = await link.spawn(['sh', '-c', 'stat -c %U $(tty); echo again > $(tty)'], [PTY, [4, 'nobody']]);
  assert.equal(String(await link.collect(id, 1)), 'nobody\r\nagain\r\n');
  await end(id);
});
