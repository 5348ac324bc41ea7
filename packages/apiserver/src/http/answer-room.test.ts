import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import type { ServerResponse } from 'node:http';
import { test } from 'node:test';
import { AnswerRoom } from './answer-room.ts';

const MIB = 1_048_576;
const response = () =>
  Object.assign(new EventEmitter(), { destroyed: false, socket: null }) as unknown as ServerResponse;
const settle = () => new Promise((resolve) => setImmediate(resolve));

test('large answers wait for room, in order; small ones never; one that is too large goes alone', async () => {
  const room = new AnswerRoom(10 * MIB);
  const got: string[] = [];
  const take = (name: string, mib: number) => {
    const res = response();
    void room.take(mib * MIB, res).then(() => got.push(name));
    return res;
  };
  const a = take('a', 6);
  const b = take('b', 6);
  const c = take('c', 40);
  take('small', 0.5);
  await settle();
  assert.deepEqual(got, ['a', 'small']);
  a.emit('close');
  await settle();
  assert.deepEqual(got, ['a', 'small', 'b']);
  b.emit('close');
  await settle();
  take('d', 1);
  await settle();
  assert.deepEqual(got, ['a', 'small', 'b', 'c']);
  c.emit('close');
  await settle();
  assert.equal(got.at(-1), 'd');
});
