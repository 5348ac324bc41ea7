import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ImageConfig } from '@vivarium/protocol';
import { parseIgnore } from '@vivarium/protocol/ignore-rules.ts';
import fc from 'fast-check';
import { build } from '../build.ts';
import { inlineFile } from '../files/inline-file.ts';
import { FileTree } from '../files/tree.ts';
import type { CopyAction, RunAction, Step } from '../workshop.ts';
import { type BuildStep, type StepAction, stepsDockerfile } from './build-step.ts';

/** Steps over an image that has one variable; what would be performed. */
async function performed(actions: StepAction[], files = new FileTree(), fresh = false) {
  const config = ImageConfig.parse({ env: { HERE: 'in the image' } });
  const steps: Step[] = [];
  const all: BuildStep[] = [{ type: 'from', image: 'base/a@1' } as StepAction, ...actions].map((action, number) => ({
    action,
    number,
    text: action.type,
    fresh,
  }));
  const image = await build(
    {
      dockerfile: stepsDockerfile(all, 'step'),
      context: files,
      ignore: parseIgnore(''),
      buildArgs: {},
      labels: {},
      network: 'none',
    },
    {
      base: async (reference) => ({ image: reference, layers: [reference], config }),
      scratch: async () => assert.fail('no scratch'),
      perform: async (step) => {
        steps.push(step);
        return { base: { image: 'x@1', layers: [step.key], config: step.config }, cached: false };
      },
      files: async () => assert.fail('no files of images'),
    },
    { step: () => {}, warning: () => {} },
    () => 0,
  );
  return { image, steps };
}

/** What a hostile client sends: quotes, blanks, line ends, escapes, no NUL. */
const hostile = fc
  .array(fc.constantFrom(...'"\'\\ \n\t#=[]{}<>`|;&*?äx-'.split('')), { minLength: 1, maxLength: 12 })
  .map((parts) => parts.join(''));

test('a program’s words reach execve as they were given', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.string({ unit: 'binary', minLength: 1 }), { minLength: 1, maxLength: 4 }),
      async (argv) => {
        const { steps } = await performed([{ type: 'run', argv }]);
        assert.deepEqual((steps[0]!.action as RunAction).argv, argv);
      },
    ),
  );
});

test('values of variables keep quotes, blanks and line ends', async () => {
  await fc.assert(
    fc.asyncProperty(hostile, async (value) => {
      const { image } = await performed([
        {
          type: 'env',
          values: [
            ['X', value],
            ['Y', ''],
          ],
        },
      ]);
      assert.equal(image.config.env.X, value);
      assert.equal(image.config.env.Y, '');
    }),
  );
});

test('variables in values and paths are those of before the step', async () => {
  const { image } = await performed([
    {
      type: 'env',
      // biome-ignore-start lint/suspicious/noTemplateCurlyInString: variables of a shell.
      values: [
        ['A', '$HERE and ${HERE:-there}, \\$(id) `id` $'],
        ['B', '${A}'],
      ],
      // biome-ignore-end lint/suspicious/noTemplateCurlyInString: variables of a shell.
    },
    { type: 'workdir', path: '/a/$HERE/b' },
  ]);
  assert.equal(image.config.env.A, 'in the image and in the image, \\$(id) `id` $');
  assert.equal(image.config.env.B, '');
  assert.equal(image.config.cwd, '/a/in the image/b');
});

test('names of files and targets are taken as they are', async () => {
  await fc.assert(
    fc.asyncProperty(hostile, async (name) => {
      fc.pre(!/[*?[\]\\]/.test(name));
      const files = new FileTree();
      files.set(Buffer.from(`d/${name}`, 'utf8').toString('latin1'), inlineFile('f', 'content').entries[0]!.node);
      const copy = { type: 'copy' as const, source: `d/${name}`, target: `/t/${name}`, owner: null, mode: null };
      const { steps } = await performed([copy], files);
      assert.equal((steps[0]!.action as CopyAction).target, `/t/${name}`);
      assert.equal((await (steps[0]!.action as CopyAction).sources()).length, 1);
    }),
  );
});

test('a link is copied as the link it is, with owner and mode', async () => {
  const files = new FileTree();
  const { node } = inlineFile('f', '').entries[0]!;
  files.set('d/link', { ...node, type: 'symlink', link: 'nowhere' });
  const { steps } = await performed(
    [{ type: 'copy', source: 'd/link', target: 'to', owner: 'user:users', mode: '0640' }],
    files,
  );
  const action = steps[0]!.action as CopyAction;
  assert.deepEqual([action.target, action.owner, action.mode], ['/to', 'user:users', 0o640]);
  assert.equal((await action.sources())[0]!.entries[0]!.node.link, 'nowhere');
});

test('a fresh step says so, others come from the cache', async () => {
  const run = { type: 'run' as const, argv: ['true'] };
  assert.equal((await performed([run], undefined, true)).steps[0]!.fresh, true);
  assert.equal((await performed([run])).steps[0]!.fresh, false);
});

test('an error names the step by its number', async () => {
  const failing = performed([{ type: 'user', user: '; exit 1' }]);
  await assert.rejects(failing, { code: 'dockerfile_invalid', details: { file: 'step', line: 1 } });
});
