import assert from 'node:assert/strict';
import { test } from 'node:test';
import { findProgram, kernelAtLeast, requireStateDir } from './machine.ts';
import { nodePaths } from './paths.ts';

test('kernel versions compare as numbers', () => {
  assert.equal(kernelAtLeast(6, 1, '6.1.0-35-amd64'), true);
  assert.equal(kernelAtLeast(6, 1, '6.18.44'), true);
  assert.equal(kernelAtLeast(6, 12, '6.8.0-31-generic'), false);
  assert.equal(kernelAtLeast(6, 1, '5.15.0-100-generic'), false);
  assert.equal(kernelAtLeast(6, 1, '7.0.0-rc1'), true);
});

test('a program is found where administrators keep theirs, a missing one is not', () => {
  assert.match(findProgram('sh') ?? '', /\/sh$/);
  assert.equal(findProgram('no-such-program-here'), undefined);
});

test('a state directory that can not be made is told by name', () => {
  assert.throws(() => requireStateDir(nodePaths('/proc/vivarium')), {
    code: 'precondition_failed',
    message: /\/proc\/vivarium/,
  });
});
