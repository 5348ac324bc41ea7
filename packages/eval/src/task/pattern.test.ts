import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { matches } from './pattern.ts';

test('patterns are the shell’s', () => {
  for (const [name, pattern] of [
    ['build-c', 'build-*'],
    ['org/fix', '*'],
    ['a1', 'a?'],
    ['b', '[abc]'],
    ['b', '[a-c]'],
    ['d', '[!a-c]'],
    ['a.b', 'a.b'],
    ['a[b', 'a[b'],
    ['[z-a]', '[z-a]'],
    ['[]', '[]'],
  ]) {
    assert.ok(matches(name!, pattern!), `${name} ${pattern}`);
  }
  for (const [name, pattern] of [
    ['build', 'build-*'],
    ['axb', 'a.b'],
    ['a', '[!a-c]'],
    ['ab', 'a'],
  ]) {
    assert.ok(!matches(name!, pattern!), `${name} ${pattern}`);
  }
});

test('any pattern is answered, and a name without specials matches itself', () => {
  fc.assert(
    fc.property(fc.string(), fc.string(), (name, pattern) => {
      matches(name, pattern);
      if (!/[*?[\]\\]/.test(name)) assert.ok(matches(name, name));
    }),
  );
});
