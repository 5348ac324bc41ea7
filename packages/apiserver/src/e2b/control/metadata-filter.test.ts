import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { metadataFilters } from './metadata-filter.ts';

const text = fc.string({ unit: 'grapheme', maxLength: 20 }).filter((one) => one.isWellFormed() && one !== '');
const metadata = fc.dictionary(text, text, { maxKeys: 4 });

test('what a client encoded once or twice is read back', () => {
  fc.assert(
    fc.property(metadata, (wanted) => {
      const once = Object.entries(wanted).map(([k, v]) => `${encodeURIComponent(k)}=${encodeURIComponent(v)}`);
      const twice = new URLSearchParams(
        Object.entries(wanted).map(([k, v]) => [encodeURIComponent(k), encodeURIComponent(v)]),
      );
      for (const sent of [once.join('&'), twice.toString()])
        assert.ok(
          metadataFilters(sent).some((read) => JSON.stringify(read) === JSON.stringify({ ...wanted })),
          `${sent} was read as ${JSON.stringify(metadataFilters(sent))}`,
        );
    }),
  );
});

test('a name that objects have by themselves is one like any other', () => {
  for (const name of ['__proto__', 'constructor'])
    assert.deepEqual(Object.entries(metadataFilters(`${name}=x`)[0]!), [[name, 'x']]);
});

test('plain names and values have one reading', () => {
  const read = (text: string) => metadataFilters(text).map((filter) => ({ ...filter }));
  assert.deepEqual(read('user=abc&app=prod'), [{ user: 'abc', app: 'prod' }]);
  assert.deepEqual(read(''), [{}]);
  assert.deepEqual(read('a=b=c'), [{ a: 'b=c' }]);
});

test('what is no pair is refused with its text', () => {
  assert.throws(() => metadataFilters('user'), /"user" is not name=value/);
  assert.throws(() => metadataFilters('a=%zz'), /"%zz" is not/);
});
