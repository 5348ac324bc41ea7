import assert from 'node:assert/strict';
import { test } from 'node:test';
import { VivError } from '@vivarium/protocol';
import type { E2bTemplateStep } from '@vivarium/protocol/e2b/template.ts';
import { buildReason } from './builds-reason.ts';
import { buildProgram, stepText } from './builds-steps.ts';

const BASE = { image: 'e2b/base@1', label: 'FROM e2bdev/base', prepared: true, home: '/home/user' };
const HASH = 'a'.repeat(64);

function actions(steps: E2bTemplateStep[], options: { force?: boolean; origin?: Partial<typeof BASE> } = {}) {
  return buildProgram({ ...BASE, ...options.origin }, steps, options.force ?? false).steps;
}

/** What follows FROM and the first USER. */
const made = (steps: E2bTemplateStep[]) =>
  actions(steps)
    .slice(2)
    .map(({ action }) => action);
const quiet = { error: () => {} };

test('a command is run by a login shell, as another user in that user’s home until there is a workdir', () => {
  assert.deepEqual(made([{ type: 'RUN', args: ['make'] }]), [{ type: 'run', argv: ['/bin/bash', '-l', '-c', 'make'] }]);
  assert.deepEqual(made([{ type: 'RUN', args: ['make', 'root'] }]), [
    { type: 'user', user: 'root' },
    { type: 'run', argv: ['/bin/bash', '-l', '-c', 'cd && eval "$0"', 'make'] },
    { type: 'user', user: 'user' },
  ]);
  const [, ...rest] = made([
    { type: 'WORKDIR', args: ['app'] },
    { type: 'RUN', args: ['make', 'root'] },
  ]);
  assert.deepEqual(rest[1], { type: 'run', argv: ['/bin/bash', '-l', '-c', 'make'] });
});

test('what a pattern matched is all that its archive holds: the part before it is copied', () => {
  for (const [source, copied] of [
    ['folder/*.txt', `${HASH}/folder`],
    ['*.txt', HASH],
    ['.', HASH],
    ['./a//b.txt', `${HASH}/a/b.txt`],
    ['a/{b,c}/d', `${HASH}/a`],
  ] as const) {
    const [action] = made([{ type: 'COPY', args: [source, '/t', '', ''], filesHash: HASH }]);
    assert.deepEqual(action, { type: 'copy', source: copied, target: '/t', owner: 'user', mode: null }, source);
  }
  const program = buildProgram(BASE, [{ type: 'COPY', args: ['a', 'b', 'root', '0755'], filesHash: HASH }], false);
  assert.deepEqual(program.files, [HASH]);
  assert.deepEqual(program.steps[2]!.action, {
    type: 'copy',
    source: `${HASH}/a`,
    target: 'b',
    owner: 'root',
    mode: '0755',
  });
});

test('a name of a variable ends at its first equals sign, as in an environment', () => {
  assert.deepEqual(made([{ type: 'ENV', args: ['A', 'x', 'G="hello', 'there"'] }]), [
    {
      type: 'env',
      values: [
        ['A', 'x'],
        ['G', '"hello=there"'],
      ],
    },
  ]);
});

test('all steps after the first that is forced are made anew', () => {
  const steps = [
    { type: 'RUN', args: ['a'] },
    { type: 'RUN', args: ['b'], force: true },
    { type: 'RUN', args: ['c'] },
  ];
  assert.deepEqual(
    actions(steps).map(({ fresh }) => fresh),
    [false, false, false, true, true],
  );
  assert.ok(actions(steps, { force: true }).every(({ fresh }) => fresh));
});

test('an image of somebody else’s is made ready for steps first, a template of ours is not', () => {
  const own = actions([]).map(({ action }) => action.type);
  assert.deepEqual(own, ['from', 'user']);
  const other = actions([], { origin: { prepared: false } }).map(({ action }) => action.type);
  assert.deepEqual(other, ['from', 'user', 'run', 'user', 'user', 'workdir']);
});

test('a step that can not be one is an error with its number', () => {
  for (const [step, message] of [
    [{ type: 'VOLUME', args: [] }, /unknown step type 'VOLUME'/],
    [{ type: 'RUN', args: [] }, /RUN requires command argument/],
    [{ type: 'RUN', args: ['a\0b'] }, /NUL/],
    [{ type: 'RUN', args: ['a', '; rm -rf /'] }, /invalid username: '; rm -rf \/'/],
    [{ type: 'COPY', args: ['a', 'b'] }, /files hash/],
    [{ type: 'COPY', args: ['a', 'b', '', '999'], filesHash: HASH }, /no octal mode/],
    [{ type: 'ENV', args: ['A'] }, /both a key and value/],
    [{ type: 'ENV', args: ['A-B', 'x'] }, /ENV A-B/],
    [{ type: 'WORKDIR', args: [''] }, /WORKDIR requires/],
    [{ type: 'USER', args: ['$(id)'] }, /no user name/],
  ] as const) {
    const steps = [{ type: 'RUN', args: ['true'] }, step] as E2bTemplateStep[];
    assert.throws(
      () => actions(steps),
      (error) => {
        const reason = buildReason(error, steps, quiet);
        assert.match(reason.message, message);
        assert.equal(reason.step, '2');
        return true;
      },
    );
  }
});

test('a reason is told in words of its own, without the place', () => {
  const steps = [
    { type: 'RUN', args: ['exit 3'] },
    { type: 'COPY', args: ['a', 'b'] },
  ];
  const failed = (line: number, details = {}) =>
    new VivError('build_failed', `step:${line}: ${stepText(steps[line - 1]!)}: why`, { details: { line, ...details } });
  assert.deepEqual(buildReason(failed(1, { outcome: { type: 'exited', code: 3 } }), steps, quiet), {
    message: "failed to run command 'exit 3': exit status 3",
    step: '1',
  });
  assert.deepEqual(buildReason(failed(2), steps, quiet), { message: 'why', step: '2' });
  assert.deepEqual(
    buildReason(new VivError('image_not_found', 'step:0: FROM x: no x', { details: { line: 0 } }), steps, quiet),
    {
      message: 'FROM x: no x',
      step: 'base',
    },
  );
});
