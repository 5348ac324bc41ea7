import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import type { ServerResponse } from 'node:http';
import { test } from 'node:test';
import { jsonArray } from './json-array.ts';

test('a long array for a slow client leaves no listener behind', async () => {
  let text = '';
  const write = (chunk: string) => {
    text += chunk;
    setImmediate(() => res.emit('drain'));
    return false;
  };
  const res = Object.assign(new EventEmitter(), { destroyed: false, writeHead() {}, write, end: write });
  async function* items() {
    for (let i = 0; i < 20; i++) yield 'x'.repeat(70_000);
  }
  await jsonArray(items(), (item) => item).send(res as unknown as ServerResponse);
  assert.equal(JSON.parse(text).length, 20);
  assert.deepEqual(res.eventNames(), []);
});
