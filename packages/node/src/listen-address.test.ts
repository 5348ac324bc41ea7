import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseListen } from './listen-address.ts';

test('addresses are read in every form', () => {
  assert.deepEqual(parseListen('127.0.0.1:7700'), { host: '127.0.0.1', port: 7700 });
  assert.deepEqual(parseListen('localhost:1'), { host: 'localhost', port: 1 });
  assert.deepEqual(parseListen('[::1]:80'), { host: '::1', port: 80 });
  assert.deepEqual(parseListen(':7700'), { host: '0.0.0.0', port: 7700 });
  assert.deepEqual(parseListen('8080'), { host: '127.0.0.1', port: 8080 });
  assert.deepEqual(parseListen('127.0.0.1:0'), { host: '127.0.0.1', port: 0 });
});

test('what is no address is refused and named', () => {
  for (const text of [
    '',
    'foo',
    '1.2.3.4',
    '127.0.0.1:70000',
    'example.org:80',
    '::1:80',
    '127.0.0.1:',
    '300.1.1.1:5',
  ]) {
    assert.throws(
      () => parseListen(text),
      (error: Error) => error.message.includes(`'${text}'`),
      text,
    );
  }
});
