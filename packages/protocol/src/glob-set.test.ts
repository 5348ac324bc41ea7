import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { GlobSet } from './glob-set.ts';
import { wildMatch } from './wild-name.ts';

const matches = (patterns: string[], path: string) => new GlobSet(patterns).matches(path);

test('a pattern from the root matches that path and all below it, nothing beside it', () => {
  assert.ok(matches(['/tests'], '/tests'));
  assert.ok(matches(['/tests/'], '/tests/a/b'));
  assert.ok(!matches(['/tests'], '/tests2'));
  assert.ok(!matches(['/tests'], '/app/tests'));
  assert.ok(!matches(['/a/b'], '/a'));
  assert.ok(!matches(['/a.b'], '/axb'));
  assert.ok(!matches(['/a/*.log'], '/a/b/x.log'));
});

test('the root as a pattern is everything below it', () => {
  for (const root of ['/', '//', '/.', '/**', '**', '.']) assert.ok(matches([root], '/any/thing'), root);
  assert.ok(!matches(['/'], '/'));
  assert.ok(!matches([], '/any'));
});

test('a pattern without a leading slash matches at any depth', () => {
  assert.ok(matches(['*.pyc'], '/x.pyc'));
  assert.ok(matches(['*.pyc'], '/a/b/x.pyc'));
  assert.ok(matches(['*.pyc'], '/x.pyc/inner'));
  assert.ok(matches(['**/x.pyc'], '/x.pyc'));
  assert.ok(matches(['.git/config'], '/app/.git/config'));
  assert.ok(!matches(['.git/config'], '/app/.git/x/config'));
});

test('** stands for any directories, and at the end for everything below but the directory itself', () => {
  assert.ok(matches(['/a/**/z'], '/a/z'));
  assert.ok(matches(['/a/**/z'], '/a/b/c/z'));
  assert.ok(matches(['/tmp/**'], '/tmp/x'));
  assert.ok(!matches(['/tmp/**'], '/tmp'));
  assert.ok(matches(['**/**/**/x'], '/a/x'));
});

test('wildcards stay within a name, match whole characters, and can be quoted', () => {
  assert.ok(!matches(['/a/*'], '/a'));
  assert.ok(!matches(['/a*c'], '/ab/c'));
  assert.ok(matches(['/?.txt'], '/ü.txt'));
  assert.ok(matches(['/[a-c]x[!0-9]'], '/bxy'));
  assert.ok(!matches(['/[a-c]x[!0-9]'], '/bx5'));
  assert.ok(matches(['/a\\*b'], '/a*b'));
  assert.ok(!matches(['/a\\*b'], '/axb'));
  assert.ok(matches(['/a\nb*'], '/a\nbc'));
  assert.ok(wildMatch('*[x', 'a[x'));
});

test('all patterns that match are named, in their order', () => {
  const set = new GlobSet(['/x/y', 'b', '/a/*', '/a/b']);
  const { state } = set.step(set.start, 'a');
  assert.deepEqual(set.step(state, 'b').matches, [1, 2, 3]);
  assert.deepEqual(set.step(state, 'c').matches, [2]);
});

test('a walk knows when it leads to a path that is named from the root', () => {
  const set = new GlobSet(['/logs/verifier', '*.py', '/a/**/b', '/x/*/y']);
  const logs = set.step(set.start, 'logs').state;
  assert.equal(set.leadsOn(logs), 'named');
  assert.equal(set.leadsOn(set.step(set.start, 'tmp').state), undefined);
  assert.equal(set.leadsOn(set.step(logs, 'other').state), undefined);
  assert.equal(set.leadsOn(set.step(set.start, 'a').state), undefined);
  const x = set.step(set.start, 'x').state;
  assert.equal(set.leadsOn(x), 'named');
  assert.equal(set.leadsOn(set.step(x, 'any').state), 'wild');
});

test('a name with nothing special in it matches itself alone, and any name matches a star', () => {
  fc.assert(
    fc.property(fc.string({ minLength: 1 }), fc.string({ minLength: 1 }), (a, b) => {
      fc.pre(!/[*?[\\/]/.test(a) && a !== '.');
      assert.equal(wildMatch(a, b), a === b);
      assert.ok(wildMatch('*', b));
      assert.ok(wildMatch(`${a}*`, a + b));
      assert.ok(wildMatch(`*${a}`, b + a));
    }),
  );
});

test('many stars against a long name come to an end', () => {
  assert.ok(!wildMatch(`${'*a'.repeat(100)}b`, 'a'.repeat(255)));
  assert.ok(matches([`${'**/*a*/'.repeat(20)}b`], `/${'aaa/'.repeat(60)}b`));
});
