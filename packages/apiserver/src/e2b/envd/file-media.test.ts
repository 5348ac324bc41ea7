import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { dispositionOf, mediaOf } from './file-media.ts';

test('the type is by the ending, whatever its case', () => {
  assert.equal(mediaOf('a.TXT'), 'text/plain; charset=utf-8');
  assert.equal(mediaOf('a.tar.gz'), 'application/gzip');
  for (const name of ['noending', '.json', 'a.', 'a.constructor', 'a.__proto__'])
    assert.equal(mediaOf(name), 'application/octet-stream', name);
});

test('a name is written as it is, quoted, or as UTF-8', () => {
  const cases = [
    ['archive.tar.gz', 'inline; filename=archive.tar.gz'],
    ['.env', 'inline; filename=.env'],
    ['my document.pdf', 'inline; filename="my document.pdf"'],
    ['file"na\\me.txt', 'inline; filename="file\\"na\\\\me.txt"'],
    ['文档.pdf', "inline; filename*=utf-8''%E6%96%87%E6%A1%A3.pdf"],
  ] as const;
  for (const [name, header] of cases) assert.equal(dispositionOf(name), header);
});

test('no name breaks out of the header', () => {
  fc.assert(fc.property(fc.string({ unit: 'binary' }), (name) => assert.match(dispositionOf(name), /^[\x20-\x7e]+$/)));
});
