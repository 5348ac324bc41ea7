import assert from 'node:assert/strict';
import { test } from 'node:test';
import { mapped } from './image-map.ts';

test('short and long names of an image are the same; the first map that knows it wins', () => {
  const map = { debian: 'd@1', 'python:3.12-slim': 'p@1', 'ghcr.io/a/b:*': 'b@1', 'localhost:5000/x': 'x@1' };
  assert.equal(mapped('docker.io/library/debian:latest', map), 'd@1');
  assert.equal(mapped('library/debian', map), 'd@1');
  assert.equal(mapped('debian:12', map), undefined);
  assert.equal(mapped('docker://python:3.12-slim', map), 'p@1');
  assert.equal(mapped('ghcr.io/a/b:v1', map), 'b@1');
  assert.equal(mapped('ghcr.io/a/c:v1', map), undefined);
  assert.equal(mapped('localhost:5000/x:latest', map), 'x@1');
  assert.equal(mapped('debian', { debian: 'other@1' }, map), 'other@1');
});

test('a name with every tag, and no name of Object’s own', () => {
  assert.equal(mapped('python:3.9', { 'python:*': 'p@1' }), 'p@1');
  assert.equal(mapped('constructor', {}), undefined);
});
