import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import { test } from 'node:test';
import { setImmediate as breathe } from 'node:timers/promises';
import type { E2bContext } from './context.ts';
import { OpenCalls } from './open-calls.ts';

class FakeSocket extends EventEmitter {
  destroyed = false;
  destroy(): void {
    this.destroyed = true;
    this.emit('close');
  }
}

/** A sandbox that is in these states, one after the other, and who follows it. */
function followed() {
  let state = 'running';
  const queue: string[] = [];
  let wake = () => {};
  const events = async function* (_filter: object, signal: AbortSignal) {
    signal.addEventListener('abort', () => wake());
    while (!signal.aborted) {
      const next = queue.shift();
      if (next) yield { id: 'box', state: next };
      else
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
    }
  };
  const context = { edge: { sandboxes: { events, get: () => ({ state }) } } } as unknown as E2bContext;
  return {
    open: new OpenCalls(context),
    async step(to: string): Promise<void> {
      state = to;
      queue.push(to);
      wake();
      for (let turn = 0; turn < 5; turn++) await breathe();
    },
  };
}

test('a pause cuts the calls under way, not those that came meanwhile to wake the sandbox; the next one cuts them too', async () => {
  const { open, step } = followed();
  const [before, meanwhile, after] = [new FakeSocket(), new FakeSocket(), new FakeSocket()];
  open.addSocket('box', before);
  await step('pausing');
  open.addSocket('box', meanwhile);
  await step('paused');
  open.addSocket('box', after);
  assert.deepEqual([before.destroyed, meanwhile.destroyed, after.destroyed], [true, false, false]);
  for (const state of ['resuming', 'running', 'pausing', 'paused']) await step(state);
  assert.deepEqual([meanwhile.destroyed, after.destroyed], [true, true]);
  open.close();
});

test('the end cuts every call, whenever it came', async () => {
  const { open, step } = followed();
  const sockets: FakeSocket[] = [];
  for (const state of ['running', 'pausing', 'ending', 'ended']) {
    await step(state);
    const socket = new FakeSocket();
    if (state !== 'ended') open.addSocket('box', socket);
    sockets.push(socket);
  }
  assert.deepEqual(
    sockets.map(({ destroyed }) => destroyed),
    [true, true, true, false],
  );
  open.close();
});

test('a connection that was closed before is not waited for', () => {
  const { open } = followed();
  const socket = new FakeSocket();
  socket.destroy();
  open.addSocket('box', socket);
  assert.equal(socket.listenerCount('close'), 0);
  open.close();
});
