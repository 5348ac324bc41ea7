import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as breathe } from 'node:timers/promises';
import { VivError, type WatchEvent } from '@vivarium/protocol';
import { FakeFiles } from '../../testing/fake-files.ts';
import type { EnvdCall } from './envd-call.ts';
import { createWatcher, removeWatcher, watcherEvents } from './watchers.ts';

const REQUEST = { path: 'dir', recursive: true, includeEntry: false, allowNetworkMounts: false };

/** A sandbox in whose directories this happens, and then nothing until the watch is ended. */
function callWith(happens: Iterable<WatchEvent>, sandbox = 'box', end?: VivError) {
  const files = new FakeFiles();
  const ended = { count: 0 };
  files.watch = async (_sandbox, _path, _options, signal) =>
    (async function* () {
      try {
        yield* happens;
        if (end) throw end;
        await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
      } finally {
        ended.count += 1;
      }
    })();
  const box = { state: 'running', autoResume: false };
  const sandboxes = { get: () => box };
  const call = { context: { edge: { files, sandboxes } }, sandbox, user: 'user' } as unknown as EnvdCall;
  return { call, ended, box };
}

const created = (path: string): WatchEvent => ({ kind: 'create', path, isDir: false });
const settled = async () => {
  for (let turn = 0; turn < 200; turn++) await breathe();
};

test('events are told once, in order, under the names of envd', async () => {
  const kinds = ['create', 'modify', 'remove', 'rename_from', 'rename_to', 'attributes', 'gone'] as const;
  const { call, ended } = callWith(kinds.map((kind) => ({ kind, path: kind === 'gone' ? '' : kind, isDir: false })));
  const { watcherId } = await createWatcher(call, REQUEST);
  await settled();
  assert.deepEqual(
    watcherEvents(call, { watcherId }).events.map(({ type, name }) => `${type.slice(11)} ${name}`),
    [
      'CREATE create',
      'WRITE modify',
      'REMOVE remove',
      'RENAME rename_from',
      'CREATE rename_to',
      'CHMOD attributes',
      'REMOVE .',
    ],
  );
  assert.deepEqual(watcherEvents(call, { watcherId }).events, []);
  removeWatcher(call, { watcherId });
  await settled();
  assert.equal(ended.count, 1);
  assert.throws(() => watcherEvents(call, { watcherId }), { code: 'path_not_found' });
});

test('one that is not asked ends with what it holds, and then says that events were lost', async () => {
  const { call, ended } = callWith(Array.from({ length: 10_005 }, (_, at) => created(`${at}`)));
  const { watcherId } = await createWatcher(call, REQUEST);
  while (ended.count === 0) await breathe();
  await settled();
  assert.equal(watcherEvents(call, { watcherId }).events.length, 10_000);
  assert.throws(() => watcherEvents(call, { watcherId }), { code: 'file_error', message: /lost/ });
  removeWatcher(call, { watcherId });
});

test('long names and metadata fill a watcher before it has so many events', async () => {
  const { call, ended } = callWith(Array.from({ length: 9000 }, (_, at) => created(`${at}`.padEnd(4000, 'x'))));
  const { watcherId } = await createWatcher(call, REQUEST);
  while (ended.count === 0) await breathe();
  await settled();
  const { events } = watcherEvents(call, { watcherId });
  assert.ok(events.length > 3000 && JSON.stringify(events).length < 17 * 1024 * 1024, `${events.length}`);
  assert.throws(() => watcherEvents(call, { watcherId }), { code: 'file_error', message: /16777216 characters/ });
  removeWatcher(call, { watcherId });
});

test('events that the sandbox lost are told as lost', async () => {
  const { call } = callWith([created('a'), { kind: 'overflow', path: '', isDir: false }]);
  const { watcherId } = await createWatcher(call, REQUEST);
  await settled();
  assert.equal(watcherEvents(call, { watcherId }).events.length, 1);
  assert.throws(() => watcherEvents(call, { watcherId }), { code: 'file_error' });
  removeWatcher(call, { watcherId });
});

test('a watcher is its own sandbox’s, goes with it, and there are so many of one', async () => {
  const { call } = callWith([]);
  const made = await Promise.all(Array.from({ length: 64 }, () => createWatcher(call, REQUEST)));
  await assert.rejects(createWatcher(call, REQUEST), { code: 'too_many_requests' });
  const other = callWith([], 'other');
  const { watcherId } = made[0]!;
  assert.throws(() => watcherEvents(other.call, { watcherId }), { code: 'path_not_found' });
  assert.throws(() => removeWatcher(other.call, { watcherId }), { code: 'path_not_found' });
  for (const one of made) removeWatcher(call, one);
  for (const state of ['ending', 'ended', 'failed', 'paused']) {
    const dead = callWith([created('a')], 'box', new VivError('connection_lost', 'the connection was closed'));
    dead.box.state = state;
    const last = await createWatcher(dead.call, REQUEST);
    await settled();
    assert.throws(() => watcherEvents(dead.call, last), { code: 'path_not_found' }, state);
  }
  const alive = callWith([], 'box', new VivError('connection_lost', 'the connection was closed'));
  const told = await createWatcher(alive.call, REQUEST);
  await settled();
  assert.throws(() => watcherEvents(alive.call, told), { code: 'connection_lost' });
  removeWatcher(alive.call, told);
});
