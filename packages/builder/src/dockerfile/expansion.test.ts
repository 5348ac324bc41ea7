// biome-ignore-all lint/suspicious/noTemplateCurlyInString: variables of Dockerfiles are what is tested
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { ExpansionError, expandText, expandWord } from './expansion.ts';

const VALUES: Record<string, string> = { A: 'one', EMPTY: '', FILE: 'dir/name.tar.gz', B2: 'two words' };
const expand = (word: string, token = '\\') => expandWord(word, (name) => VALUES[name], token);

/** From the table of BuildKit's shell lexer, and the documentation of Dockerfiles. */
const WORDS: [word: string, expanded: string][] = [
  ['$A', 'one'],
  ['x${A}y', 'xoney'],
  ['$Ay', ''],
  ['$A-$EMPTY-$NONE', 'one--'],
  ['\\$A', '$A'],
  ['"$A b"', 'one b'],
  ["'$A b'", '$A b'],
  ['"\\$A \\" \\x"', '$A " \\x'],
  ['a\\ b', 'a b'],
  ['${NONE:-d}', 'd'],
  ['${EMPTY:-d}', 'd'],
  ['${EMPTY-d}', ''],
  ['${A:+d}', 'd'],
  ['${EMPTY:+d}', ''],
  ['${EMPTY+d}', 'd'],
  ['${NONE:-${A}/$B2}', 'one/two words'],
  ['${A:?no}', 'one'],
  ['${FILE%.*}', 'dir/name.tar'],
  ['${FILE%%.*}', 'dir/name'],
  ['${FILE#*/}', 'name.tar.gz'],
  ['${FILE##*.}', 'gz'],
  ['${FILE/a/A}', 'dir/nAme.tar.gz'],
  ['${FILE//a/A}', 'dir/nAme.tAr.gz'],
  ['$', '$'],
  ['a$.b', 'a$.b'],
  ['$1', ''],
];

test('words are expanded as BuildKit does', () => {
  for (const [word, expected] of WORDS) assert.equal(expand(word), expected, word);
  assert.equal(expand('`$A\\x', '`'), '$A\\x');
});

test('what can’t be read is said, not guessed', () => {
  for (const word of ['"$A', "'a", '${A', '${A:d}', '${}', '${A~x}', '${NONE:?must be set}', '${NONE?}'])
    assert.throws(() => expand(word), ExpansionError, word);
});

test('in here-documents quotes are text and only variables are escaped', () => {
  assert.equal(
    expandText('"$A" \'$A\' \\$A \\n', (name) => VALUES[name], '\\'),
    '"one" \'one\' $A \\n',
  );
});

test('a word that is nested too deep is refused with words', () => {
  const nested = (depth: number) => `${'${NONE:-'.repeat(depth)}x${'}'.repeat(depth)}`;
  assert.equal(expand(nested(100)), 'x');
  assert.throws(() => expand(nested(100_000)), ExpansionError);
});

test('no word takes long', () => {
  VALUES.LONG = 'a'.repeat(256);
  assert.equal(expand(`\${LONG##${'*a'.repeat(60)}b}`), VALUES.LONG);
  fc.assert(
    fc.property(
      fc.string({ unit: fc.constantFrom('$', '{', '}', 'A', ':', '-', '"', "'", '\\', '#', '*', '/') }),
      (word) => {
        try {
          assert.equal(typeof expand(word), 'string');
        } catch (thrown) {
          assert.ok(thrown instanceof ExpansionError, String(thrown));
        }
      },
    ),
  );
});
