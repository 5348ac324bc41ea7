import assert from 'node:assert/strict';
import { test } from 'node:test';
import { VivError } from '@vivarium/sdk/error.ts';
import fc from 'fast-check';
import { resolveEnv } from './env.ts';

const host = { KEY: 'secret', EMPTY: '' };

test('a whole value names a variable of the host, with or without a default', () => {
  const env = { A: `\${KEY}`, B: `\${NONE:-x}`, C: `\${KEY:-x}`, D: `\${NONE:-}`, E: `\${EMPTY}`, F: `\${EMPTY:-x}` };
  assert.deepEqual(resolveEnv(env, host), { A: 'secret', B: 'x', C: 'secret', D: '', E: '', F: 'x' });
});

test('anything else is text', () => {
  const env = { A: `a\${KEY}`, B: '$KEY', C: `\${KEY}\${KEY}`, D: `\${1}`, E: `\${KEY` };
  assert.deepEqual(resolveEnv(env, host), env);
});

test('an unset variable without default names variable and field', () => {
  assert.throws(
    () => resolveEnv({ TOKEN: `\${HF_TOKEN}` }, host, 'verifier.env'),
    (error) =>
      error instanceof VivError &&
      error.code === 'task_refused' &&
      error.fault === 'user' &&
      /verifier\.env\.TOKEN: the variable HF_TOKEN is not set/.test(error.message),
  );
});

test('a task does not get the key of the node, whoever runs it may give it', () => {
  const key = { VIV_API_KEY: 'secret' };
  const env = { KEY: `\${VIV_API_KEY:-}` };
  assert.throws(() => resolveEnv(env, key, 'environment.env'), { code: 'task_refused' });
  assert.deepEqual(resolveEnv(env, key, '--ae'), { KEY: 'secret' });
});

test('what objects inherit is no variable', () => {
  assert.throws(() => resolveEnv({ A: `\${constructor}` }, host), /constructor is not set/);
});

test('values without a dollar sign never change', () => {
  fc.assert(
    fc.property(
      fc.dictionary(
        fc.string(),
        fc.string().filter((text) => !text.includes('$')),
      ),
      (env) => {
        assert.deepEqual(resolveEnv(env, host), { ...env });
      },
    ),
  );
});
