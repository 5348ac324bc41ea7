import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { nearest } from './nearest.ts';

const VERBS = ['ls', 'ps', 'cp', 'run', 'exec', 'kill', 'create', 'port-forward'];

test('a slip of a finger finds the name that was meant', () => {
  for (const [word, meant] of [
    ['exce', 'exec'],
    ['lss', 'ls'],
    ['sl', 'ls'],
    ['rnu', 'run'],
    ['craete', 'create'],
    ['portforwrd', 'port-forward'],
    ['EXEC', 'exec'],
  ] as const)
    assert.equal(nearest(word, VERBS), meant, word);
  assert.equal(nearest('memory', ['cpus', 'memoryMiB']), 'memoryMiB');
});

test('what resembles nothing is answered with nothing', () => {
  for (const word of ['', 'x', 'zz', 'abc', 'frobnicate']) assert.equal(nearest(word, VERBS), undefined, word);
  assert.equal(nearest('exec', []), undefined);
});

test('the nearest wins, and the first of those as near', () => {
  assert.equal(nearest('tests', ['test', 'tests2', 'rests']), 'test');
  assert.equal(nearest('timeout', ['timeoutMs', 'timeouts']), 'timeouts');
});

test('a name with one letter changed, lost or doubled is found, and a long one costs nothing', () => {
  fc.assert(
    fc.property(fc.string({ minLength: 2, maxLength: 40 }), fc.nat(), (name, n) => {
      const at = n % name.length;
      for (const put of ['\0', '', name[at]!.repeat(2)])
        assert.equal(nearest(name.slice(0, at) + put + name.slice(at + 1), ['-'.repeat(80), name]), name);
    }),
  );
  assert.equal(nearest('a'.repeat(10_000_000), ['a', 'a'.repeat(10_000_000)]), undefined);
});
