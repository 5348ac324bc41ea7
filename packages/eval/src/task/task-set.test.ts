import assert from 'node:assert/strict';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { VivError } from '@vivarium/sdk/error.ts';
import { loadTaskSet, type TaskFilter } from './task-set.ts';
import { temporary, writeTask } from './testing/task-directory.ts';

async function threeTasks(t: TestContext): Promise<string> {
  const dir = await temporary(t);
  await writeTask(join(dir, 'fix-bug'), { 'task.toml': '[task]\nname = "org/fix"\n' });
  await writeTask(join(dir, 'build-c'));
  await writeTask(join(dir, 'build-go'));
  return dir;
}
const ids = async (dir: string, filter?: TaskFilter) => (await loadTaskSet(dir, filter)).tasks.map(({ id }) => id);
const fails = (promise: Promise<unknown>, code: string, pattern: RegExp) =>
  assert.rejects(promise, (error) => error instanceof VivError && error.code === code && pattern.test(error.message));

test('a set is the children that hold a task.toml, sorted', async (t) => {
  const dir = await threeTasks(t);
  await mkdir(join(dir, 'docs'));
  await writeFile(join(dir, 'README.md'), 'x');
  assert.deepEqual(await ids(dir), ['build-c', 'build-go', 'org/fix']);
});

test('a task is a set of one', async (t) => {
  const dir = await threeTasks(t);
  assert.deepEqual(await ids(join(dir, 'build-c')), ['build-c']);
});

test('patterns and names match the id, its last part and the folder', async (t) => {
  const dir = await threeTasks(t);
  assert.deepEqual(await ids(dir, { include: ['build-*'] }), ['build-c', 'build-go']);
  assert.deepEqual(await ids(dir, { include: ['build-*'], exclude: ['*-go'] }), ['build-c']);
  for (const name of ['org/fix', 'fix', 'fix-bug']) assert.deepEqual(await ids(dir, { names: [name] }), ['org/fix']);
});

test('a name that no task has is an error, and so are patterns that leave nothing', async (t) => {
  const dir = await threeTasks(t);
  await fails(loadTaskSet(dir, { names: ['build-d'] }), 'task_invalid', /no task named "build-d"/);
  await fails(loadTaskSet(dir, { include: ['z*'] }), 'task_invalid', /none of its 3 tasks/);
});

test('no task at all is an error that says what a task is', async (t) => {
  await fails(loadTaskSet(await temporary(t)), 'task_invalid', /holds no task \(no task\.toml/);
  await fails(loadTaskSet('/no/such/place'), 'invalid_argument', /there is no directory/);
});

test('two tasks with one name are both named', async (t) => {
  const dir = await threeTasks(t);
  await writeTask(join(dir, 'other'), { 'task.toml': '[task]\nname = "org/fix"\n' });
  await fails(loadTaskSet(dir), 'task_invalid', /two tasks are named "org\/fix": fix-bug and other/);
});

test('a broken task is told beside the sound ones', async (t) => {
  const dir = await threeTasks(t);
  await writeTask(join(dir, 'broken'), { 'task.toml': 'a = [' });
  const { tasks, broken } = await loadTaskSet(dir);
  assert.equal(tasks.length, 3);
  assert.deepEqual(
    broken.map(({ folder, error }) => [folder, error.code]),
    [['broken', 'task_invalid']],
  );
});

test('what looks like a task but has no task.toml is mentioned', async (t) => {
  const dir = await threeTasks(t);
  await writeTask(join(dir, 'forgotten'), { 'task.toml': undefined });
  const { tasks, warnings } = await loadTaskSet(dir);
  assert.equal(tasks.length, 3);
  assert.match(warnings[0]!.message, /no task\.toml/);
});
