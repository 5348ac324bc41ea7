import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isJobImage, shortDigest, slug, trialImage } from './image-name.ts';

test('what jobs make is told from what people named', () => {
  const version = shortDigest('x');
  for (const name of [
    trialImage('job', 'trial', '1'),
    trialImage('job', 'trial', '1-graded'),
    `task/${slug('a/b')}@${version}`,
    `task-env/a@${version}`,
    `grader/a@${version}`,
  ])
    assert.equal(isJobImage(name), true, name);
  for (const name of ['base/debian@12', 'grader/mine@1', 'task/mine@2', 'trials/x@1', `app/x@${version}`])
    assert.equal(isJobImage(name), false, name);
});
