import assert from 'node:assert/strict';
import { test } from 'node:test';
import { VivError } from '@vivarium/protocol';
import fc from 'fast-check';
import { parseDockerfile } from './parser.ts';

const parse = (source: string) => parseDockerfile(source, 'Dockerfile').instructions;
const fails = (source: string, line: number, message: RegExp, hint?: RegExp) =>
  assert.throws(
    () => parse(source),
    (thrown: VivError) => {
      assert.equal(thrown.code, 'dockerfile_invalid');
      assert.equal(thrown.fault, 'task');
      assert.equal(thrown.details.line, line, thrown.message);
      assert.match(thrown.message, message);
      if (hint) assert.match(thrown.hint, hint);
      return true;
    },
  );

test('continuation lines are joined; comments and empty lines between them are left out', () => {
  const [run, copy] = parse('RUN a \\\n# c\n\n   # d\n  && b\nCOPY x y\n').map(({ rest, line, endLine }) => ({
    rest,
    line,
    endLine,
  }));
  assert.deepEqual(run, { rest: 'a   && b', line: 1, endLine: 5 });
  assert.deepEqual(copy, { rest: 'x y', line: 6, endLine: 6 });
});

test('an escaped backslash at the end of a line does not continue it; blanks after one do not matter', () => {
  assert.deepEqual(
    parse('RUN echo a\\\\\nRUN b \\  \n c').map(({ rest }) => rest),
    ['echo a\\\\', 'b  c'],
  );
});

test('the escape directive counts only before anything else', () => {
  assert.deepEqual(
    parse('# syntax=x\n# escape=`\nRUN dir c:\\ `\n b').map(({ rest }) => rest),
    ['dir c:\\  b'],
  );
  assert.deepEqual(
    parse('# plain\n# escape=`\nRUN a`\nRUN b').map(({ rest }) => rest),
    ['a`', 'b'],
  );
  fails('# escape=x\nRUN a', 1, /escape/);
});

test('lines that end as on Windows, a byte order mark and lower case are fine', () => {
  assert.deepEqual(
    parse('\uFEFFfrom a\r\nrun b \\\r\n  c\r\n').map(({ keyword, rest }) => [keyword, rest]),
    [
      ['FROM', 'a'],
      ['RUN', 'b   c'],
    ],
  );
});

test('here-documents are words of their own, not inside quotes, arithmetic or here-strings', () => {
  const names = (line: string) => parse(line)[0]!.heredocs.map(({ name }) => name);
  assert.deepEqual(names('RUN cat <<EOF > x && cat <<-"B"\na\nEOF\n\tb\n\tB'), ['EOF', 'B']);
  for (const line of [
    'RUN echo $((1<<2))',
    'RUN cat <<< x',
    'RUN echo "a <<EOF b"',
    "RUN echo '<<EOF'",
    'CMD cat <<EOF',
  ])
    assert.deepEqual(names(line), [], line);
});

test('the content of a here-document is as written; tabs go with <<-, quotes keep variables', () => {
  const [copy] = parse('COPY <<-A <<"B" /x/\n\ta $x\n\\\nA\n# no comment\nB\n');
  assert.deepEqual(copy!.heredocs, [
    { name: 'A', expand: true, chomp: true, content: 'a $x\n\\\n' },
    { name: 'B', expand: false, chomp: false, content: '# no comment\n' },
  ]);
  assert.equal(copy!.endLine, 6);
  fails('FROM a\nRUN <<EOF\nb\n', 2, /<<EOF does not end/);
});

test('flags are those before the first argument', () => {
  const [copy] = parse('COPY --from=a --chown="b c" --link x --y z');
  assert.deepEqual(copy!.flags, [
    { name: 'from', value: 'a' },
    { name: 'chown', value: 'b c' },
    { name: 'link', value: null },
  ]);
  assert.equal(copy!.rest, 'x --y z');
  assert.deepEqual(parse('ENTRYPOINT --flag')[0]!.flags, []);
});

test('an unknown instruction is named with its line and what may have been meant', () => {
  fails('FROM a\n\nCOPPY a b', 3, /unknown instruction COPPY/, /COPY/);
  fails('FROM a\nHELLO', 2, /unknown instruction HELLO/);
  fails('FROM', 1, /FROM needs an argument/);
  fails('# nothing', 1, /no instructions/);
});

test('any text is either read or refused with a line', () => {
  const piece = fc.constantFrom(
    'FROM',
    'RUN',
    'COPY',
    ' ',
    '\n',
    '\\\n',
    '<<EOF',
    'EOF',
    '"',
    "'",
    '--a=',
    '[',
    '#',
    '`',
    '$',
    'x',
    '\t',
    '\r\n',
  );
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 40 }), (pieces) => {
      try {
        for (const { line, endLine } of parse(pieces.join(''))) assert.ok(line >= 1 && endLine >= line);
      } catch (thrown) {
        assert.ok(thrown instanceof VivError && thrown.code === 'dockerfile_invalid', String(thrown));
      }
    }),
    { numRuns: 500 },
  );
});
