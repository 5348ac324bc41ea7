import assert from 'node:assert/strict';
import { test } from 'node:test';
import { VivError } from '@vivarium/sdk';
import { explained } from './result.ts';

test('a build that failed is told with what its step said and what can be done', () => {
  const error = new VivError('build_failed', 'Dockerfile:2: RUN x: it ended with exit code 4', {
    details: { output: 'working\nno such thing\n' },
    hint: 'Look.',
  });
  assert.equal(explained(error), 'Dockerfile:2: RUN x: it ended with exit code 4\nworking\nno such thing\nhint: Look.');
});

test('of much output the end is told', () => {
  const error = new VivError('build_failed', 'm', { details: { output: `${'x'.repeat(9000)}end` } });
  const text = explained(error);
  assert.ok(text.length < 3000);
  assert.match(text, /xend\n/);
});
