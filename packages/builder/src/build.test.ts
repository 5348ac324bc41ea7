import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ImageConfig, VivError } from '@vivarium/protocol';
import { parseIgnore } from '@vivarium/protocol/ignore-rules.ts';
import { build } from './build.ts';
import { parseDockerfile } from './dockerfile/parser.ts';
import { inlineFile } from './files/inline-file.ts';
import { FileTree } from './files/tree.ts';
import type { Base, RunAction, Step, Workshop } from './workshop.ts';

type Options = {
  files?: Record<string, string>;
  target?: string;
  args?: Record<string, string>;
  labels?: Record<string, string>;
  ignore?: string;
  network?: 'none' | 'node';
  base?: Partial<ImageConfig>;
};

/** Builds with a workshop that only notes what it is asked for; a layer is called by its step's key. */
async function plan(source: string, options: Options = {}) {
  const steps: Step[] = [];
  const asked: string[] = [];
  const warnings: string[] = [];
  const config = ImageConfig.parse({ env: { LANG: 'C' }, cmd: ['below'], ...options.base });
  const workshop: Workshop = {
    base: async (reference) => {
      asked.push(reference);
      if (reference.startsWith('no')) throw new VivError('image_not_found', `there is no image ${reference}`);
      return { image: 'base/a@1', layers: [reference], config };
    },
    scratch: async () => ({ image: 'cache/scratch@1', layers: ['scratch'], config: ImageConfig.parse({}) }),
    perform: async (step) => {
      if (step.action?.type === 'copy') await step.action.sources();
      steps.push(step);
      const base: Base = {
        image: `cache/${step.key}@1`,
        layers: [...step.parent.layers, step.key],
        config: step.config,
      };
      return { base, cached: false };
    },
    files: async () => contextOf({ 'out/f': 'x' }),
  };
  const image = await build(
    {
      dockerfile: parseDockerfile(source, 'Dockerfile'),
      context: contextOf(options.files ?? { 'a.txt': 'a' }),
      ignore: parseIgnore(options.ignore ?? ''),
      target: options.target,
      buildArgs: options.args ?? {},
      labels: options.labels ?? {},
      network: options.network ?? 'none',
    },
    workshop,
    { step: () => {}, warning: (line, message) => warnings.push(`${line}: ${message}`) },
    () => 0,
  );
  return {
    image,
    steps,
    asked,
    warnings,
    runs: steps.flatMap(({ action }) => (action?.type === 'run' ? [action] : [])),
  };
}

function contextOf(files: Record<string, string>): FileTree {
  const tree = new FileTree();
  for (const [path, content] of Object.entries(files)) tree.set(path, inlineFile(path, content).entries[0]!.node);
  return tree;
}

const keys = async (source: string, options: Options = {}) => (await plan(source, options)).steps.map(({ key }) => key);
const fails = (source: string, code: string, message: RegExp, options: Options = {}) =>
  assert.rejects(plan(source, options), (thrown: VivError) => {
    assert.equal(thrown.code, code, thrown.message);
    assert.match(thrown.message, message);
    assert.equal(thrown.fault, code === 'invalid_argument' ? 'user' : 'task');
    return true;
  });

test('instructions that say only something about the image make no step', async () => {
  const { steps, image } = await plan(
    'FROM a\nENV A=1 B="x $A"\nENV C two words\nLABEL l=v\nEXPOSE 80 53/udp\nUSER u:g\nSHELL ["/bin/bash", "-c"]\nSTOPSIGNAL SIGINT\nHEALTHCHECK --interval=1m30s --retries=3 CMD curl x\nENTRYPOINT exec run\nCMD ["a"]',
    { labels: { own: '1' } },
  );
  assert.deepEqual(steps, []);
  const { env, labels, exposedPorts, user, shell, stopSignal, healthcheck, entrypoint, cmd } = image.config;
  assert.deepEqual([env.A, env.B, env.C, env.LANG], ['1', 'x ', 'two words', 'C']);
  assert.deepEqual(labels, { l: 'v', own: '1' });
  assert.deepEqual(
    [exposedPorts, user, shell, stopSignal],
    [['80/tcp', '53/udp'], 'u:g', ['/bin/bash', '-c'], 'SIGINT'],
  );
  assert.deepEqual(healthcheck, { test: ['CMD-SHELL', 'curl x'], intervalMs: 90_000, retries: 3 });
  assert.deepEqual([entrypoint, cmd], [['/bin/bash', '-c', 'exec run'], ['a']]);
});

test('an entry point of its own drops the command of the image below', async () => {
  assert.equal((await plan('FROM a\nENTRYPOINT ["x"]')).image.config.cmd, undefined);
  assert.deepEqual((await plan('FROM a\nUSER x')).image.config.cmd, ['below']);
});

test('arguments: given, own default, from before FROM; variables of the environment win', async () => {
  const source =
    'ARG BASE=a\nARG V=1\nFROM $BASE AS s\nARG V\nARG W=$V-w\nARG LANG=de\nENV X=$W\nRUN echo\nFROM s\nRUN echo';
  const { runs, asked, warnings } = await plan(source, {
    args: { BASE: 'other', W: 'given', nobody: 'x', http_proxy: 'p' },
  });
  assert.deepEqual(asked, ['other']);
  const env = ({ env: { V, W, X, LANG, http_proxy } }: RunAction) => [V, W, X, LANG, http_proxy];
  assert.deepEqual(runs.map(env), [
    ['1', 'given', 'given', 'C', 'p'],
    [undefined, undefined, 'given', 'C', 'p'],
  ]);
  assert.deepEqual(warnings, ['null: no ARG takes the build argument nobody']);
});

test('forms of RUN: shell, JSON, scripts', async () => {
  const { runs } = await plan(
    'FROM a\nRUN a && b\nRUN ["x", "$y"]\nRUN <<EOF\na\nb\nEOF\nRUN cat <<EOF > /f\n$x\nEOF\nRUN <<EOF\n#!/usr/bin/env python3 -B\nprint()\nEOF\nSHELL ["/bin/bash", "-ec"]\nRUN c\nRUN [ -e x ]',
  );
  assert.deepEqual(
    runs.map(({ argv }) => argv),
    [
      ['/bin/sh', '-c', 'a && b'],
      ['x', '$y'],
      ['/bin/sh', '-c', 'a\nb\n'],
      ['/bin/sh', '-c', 'cat <<EOF > /f\n$x\nEOF\n'],
      ['/usr/bin/env', 'python3 -B', '/dev/shm/viv-heredoc'],
      ['/bin/bash', '-ec', 'c'],
      ['/bin/bash', '-ec', '[ -e x ]'],
    ],
  );
});

test('a working directory is made with the next step, or at the end', async () => {
  const { steps } = await plan('FROM a\nWORKDIR /a\nWORKDIR b\nRUN x\nUSER 5\nWORKDIR c');
  assert.deepEqual(
    steps.map(({ directories, action }) => [directories, action?.type ?? null]),
    [
      [
        [
          { path: '/a', user: null },
          { path: '/a/b', user: null },
        ],
        'run',
      ],
      [[{ path: '/a/b/c', user: '5' }], null],
    ],
  );
});

test('only stages that the target needs are built', async () => {
  const source =
    'FROM a AS one\nRUN 1\nFROM no AS two\nRUN 2\nFROM b AS three\nCOPY --from=one /out /\nFROM three\nRUN 4';
  const { asked, steps } = await plan(source);
  assert.deepEqual([asked, steps.length], [['a', 'b'], 3]);
  assert.equal((await plan(source, { target: 'ONE' })).steps.length, 1);
  assert.equal(
    await plan('FROM a AS one\nRUN --mount=from=one,target=/x x\nFROM a\nRUN --mount=from=one,target=/x y', {
      target: 'one',
    }).catch((error: VivError) => error.code),
    'dockerfile_invalid',
  );
});

test('the key of a step follows from what it depends on, and from nothing else', async () => {
  const source = 'FROM a\nARG V=1\nENV E=1\nCOPY a.txt /\nRUN x';
  const [copy, run] = await keys(source);
  const same = async (other: string, options: Options = {}) => {
    const [copied, ran] = await keys(other, options);
    return [copied === copy, ran === run];
  };
  assert.deepEqual(await same(source), [true, true]);
  assert.deepEqual(await same(source.replace('E=1', 'E=2')), [true, false]);
  assert.deepEqual(await same(source, { args: { V: '2' } }), [true, false]);
  assert.deepEqual(await same(source, { args: { HTTP_PROXY: 'x' } }), [true, true]);
  assert.deepEqual(await same(source, { files: { 'a.txt': 'b' } }), [false, false]);
  assert.deepEqual(await same(source, { files: { 'a.txt': 'a', other: 'x' } }), [true, true]);
  assert.deepEqual(await same(source, { network: 'node' }), [true, false]);
  assert.deepEqual(await same(source.replace('RUN x', 'LABEL z=1\nRUN x')), [true, true]);
  assert.deepEqual(await same(source.replace('RUN x', 'USER 1\nRUN x')), [true, false]);
  assert.deepEqual(await same(source.replace('FROM a', 'FROM b')), [false, false]);
});

test('errors name the line and the instruction', async () => {
  await fails('FROM nothing', 'image_not_found', /^Dockerfile:1: FROM nothing: there is no image nothing/);
  await fails(
    'FROM a\nCOPY b.txt /',
    'build_failed',
    /^Dockerfile:2: COPY b.txt \/: "b.txt" is not there \(in the build context\)/,
  );
  await fails('FROM a\nCOPY ../a.txt /', 'build_failed', /leads out of the build context/);
  await fails('FROM a\nCOPY a.txt', 'dockerfile_invalid', /Dockerfile:2: COPY: it takes at least one source/);
  await fails('FROM a\nCOPY --form=b a.txt /', 'dockerfile_invalid', /no --form/);
  await fails('FROM a\nADD https://x/y /', 'dockerfile_invalid', /remote source/);
  await fails('FROM a\nRUN --mount=type=secret,id=x y', 'dockerfile_invalid', /secret/);
  await fails('FROM a\nRUN --network=host y', 'dockerfile_invalid', /no network/);
  await fails('FROM a\nENV 1x=2', 'dockerfile_invalid', /no name of a variable/);
  await fails('FROM a\nENV x="a', 'dockerfile_invalid', /not closed/);
  await fails('FROM a AS b\nCOPY --from=b x y', 'dockerfile_invalid', /circular/);
  await fails('FROM a AS b\nCOPY --from=c x y\nFROM a AS c', 'dockerfile_invalid', /circular/, { target: 'b' });
  await fails('FROM a\nCOPY --from=nope x y', 'image_not_found', /Dockerfile:2: .*no image nope/);
  await fails('FROM --platform=linux/arm64 a', 'dockerfile_invalid', /linux\/amd64 only/);
  await fails('RUN x', 'dockerfile_invalid', /before the first FROM/);
  await fails('FROM a AS x', 'invalid_argument', /no stage "y"/, { target: 'y' });
});

test('a source that .dockerignore took away says so', async () => {
  await assert.rejects(plan('FROM a\nCOPY a.txt /', { ignore: '*.txt' }), (thrown: VivError) =>
    /dockerignore/.test(thrown.hint),
  );
});
