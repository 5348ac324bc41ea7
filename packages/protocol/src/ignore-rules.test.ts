import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseIgnore } from './ignore-rules.ts';
import { pathPattern } from './path-pattern.ts';

const ignored = (rules: string, paths: string[]) => paths.filter((path) => parseIgnore(rules).ignores(path));

test('a .dockerignore leaves out what Docker’s does', () => {
  const paths = ['a', 'a.log', 'dir/a.log', 'dir/keep.log', 'dir/sub/x', 'node_modules/m/i.js', 'src/node_modules/n'];
  assert.deepEqual(ignored('*.log', paths), ['a.log']);
  assert.deepEqual(ignored('**/*.log', paths), ['a.log', 'dir/a.log', 'dir/keep.log']);
  assert.deepEqual(ignored('**/*.log\n!dir/keep.log', paths), ['a.log', 'dir/a.log']);
  assert.deepEqual(ignored('node_modules', paths), ['node_modules/m/i.js']);
  assert.deepEqual(ignored('**/node_modules', paths), ['node_modules/m/i.js', 'src/node_modules/n']);
  assert.deepEqual(ignored('dir', paths), ['dir/a.log', 'dir/keep.log', 'dir/sub/x']);
  assert.deepEqual(ignored('*\n!dir', paths), ['a', 'a.log', 'node_modules/m/i.js', 'src/node_modules/n']);
  assert.deepEqual(ignored('# a\n\n  /dir/ \n', paths), ['dir/a.log', 'dir/keep.log', 'dir/sub/x']);
  assert.deepEqual(ignored('d?r/[a-b]*', paths), ['dir/a.log']);
  assert.deepEqual(ignored('.', paths), []);
});

test('a line that is no pattern is told, and ignores nothing', () => {
  const bad: string[] = [];
  assert.equal(parseIgnore('a[\r\nb\\\r\nc', (line) => bad.push(line)).ignores('a['), false);
  assert.deepEqual(bad, ['a[', 'b\\']);
});

test('matching takes no longer than pattern times text, whatever the pattern', () => {
  const pattern = pathPattern(`${'**/*a'.repeat(40)}b`)!;
  assert.equal(pattern.matches('a/'.repeat(500)), false);
});
