import assert from 'node:assert/strict';
import { chmod, utimes } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { VivError } from '@vivarium/sdk/error.ts';
import { loadTask } from './load-task.ts';
import { readForSandbox } from './script.ts';
import { type Files, taskDirectory, temporary } from './testing/task-directory.ts';

const SEPARATE = '[verifier]\nenvironment_mode = "separate"\n';
const STEPS = '[[steps]]\nname = "one"\n[[steps]]\nname = "two"\n';

const load = async (t: TestContext, files: Files = {}) => loadTask(await taskDirectory(t, files));
const fails = async (t: TestContext, files: Files, code: string, pattern: RegExp) =>
  assert.rejects(load(t, files), (error) => {
    assert.ok(error instanceof VivError, String(error));
    assert.match(error.message, pattern);
    return error.code === code && error.fault === 'task';
  });

test('a plain task is its folder’s name, its instruction, its Dockerfile and its tests', async (t) => {
  const dir = await taskDirectory(t);
  const task = await loadTask(dir);
  assert.equal(task.id, 'sample');
  assert.equal(task.instruction, 'Write "hello" to /app/hello.txt.\n');
  assert.equal(task.environment.kind, 'dockerfile');
  assert.equal(task.environment.context, join(dir, 'environment'));
  assert.deepEqual([task.tests, task.solution], [join(dir, 'tests'), join(dir, 'solution')]);
  assert.deepEqual([task.separate, task.steps, task.warnings], [null, [], []]);
});

test('a name in task.toml is the id', async (t) => {
  assert.equal((await load(t, { 'task.toml': '[task]\nname = "org/other"\n' })).id, 'org/other');
});

test('a task without solve.sh has no oracle', async (t) => {
  assert.equal((await load(t, { 'solution/solve.sh': undefined, 'solution/readme': 'x' })).solution, null);
});

test('docker_image goes before the Dockerfile, which stays for a forced build', async (t) => {
  const { environment } = await load(t, { 'task.toml': '[environment]\ndocker_image = "base/debian@12"\n' });
  assert.ok(environment.kind === 'image');
  assert.equal(environment.ref, 'base/debian@12');
  assert.equal(basename(environment.context!), 'environment');
  assert.equal(environment.upload, null);
});

test('with docker_image and no Dockerfile the files of environment/ are uploaded', async (t) => {
  const toml = '[environment]\ndocker_image = "base/debian@12"\n';
  const files = { 'task.toml': toml, 'environment/Dockerfile': undefined };
  const bare = await load(t, files);
  assert.ok(bare.environment.kind === 'image');
  assert.deepEqual([bare.environment.context, bare.environment.upload], [null, null]);
  const filled = await load(t, { ...files, 'environment/data.csv': '1' });
  assert.ok(filled.environment.kind === 'image');
  assert.equal(basename(filled.environment.upload!), 'environment');
});

test('what a task must have is named when it is missing', async (t) => {
  await fails(t, { 'task.toml': undefined }, 'task_invalid', /^sample\/task\.toml: is missing/);
  await fails(t, { 'instruction.md': undefined }, 'task_invalid', /instruction\.md: is missing/);
  await fails(t, { 'instruction.md': ' \n' }, 'task_invalid', /instruction\.md: is empty/);
  await fails(t, { 'tests/test.sh': undefined }, 'task_invalid', /tests\/test\.sh: is missing/);
  await fails(t, { 'environment/Dockerfile': undefined }, 'task_invalid', /environment\/Dockerfile: is missing/);
  await assert.rejects(loadTask(join(await temporary(t), 'nothing')), /there is no directory/);
});

test('a directory where a file belongs is no file', async (t) => {
  await fails(t, { 'tests/test.sh': undefined, 'tests/test.sh/x': '' }, 'task_invalid', /test\.sh: is a directory/);
  await fails(t, { 'instruction.md': undefined, 'instruction.md/x': '' }, 'task_invalid', /instruction\.md: is a dir/);
  await fails(t, { 'task.toml': undefined, 'task.toml/x': '' }, 'task_invalid', /task\.toml: is a directory/);
});

test('several containers are refused', async (t) => {
  const file = 'environment/docker-compose.yaml';
  await fails(t, { [file]: 'services: {}\n' }, 'task_refused', /environment\/docker-compose\.yaml: asks for several/);
});

test('broken TOML and refused fields name the task as well', async (t) => {
  await fails(t, { 'task.toml': 'a = [\n' }, 'task_invalid', /^sample\/task\.toml:\d+: is no TOML/);
  await fails(
    t,
    { 'task.toml': '[environment]\ngpus = 1\n' },
    'task_refused',
    /^sample\/task\.toml:2: environment\.gpus/,
  );
  await fails(t, { 'task.toml': Buffer.from([0xff, 0xfe, 0x41]) }, 'task_invalid', /task\.toml: is not UTF-8/);
  await fails(t, { 'instruction.md': Buffer.alloc(5 * 2 ** 20, 'a') }, 'task_invalid', /instruction\.md: is larger/);
});

test('leading canary lines are for others, later ones are the task’s', async (t) => {
  const text = '<!-- canary GUID 1 -->\n# harbor-canary GUID 2\n\nDo it.\n# a canary in the text\n';
  const task = await load(t, { 'instruction.md': text });
  assert.equal(task.instruction, 'Do it.\n# a canary in the text\n');
  assert.equal((await load(t, { 'instruction.md': '# A canary in a mine\n\ntext\n' })).instruction, 'text\n');
  assert.equal((await load(t, { 'instruction.md': '\n# Title\ntext\n' })).instruction, '\n# Title\ntext\n');
});

test('CRLF is tolerated everywhere and said', async (t) => {
  const task = await load(t, {
    'task.toml': '[agent]\r\ntimeout_sec = 1\r\n',
    'instruction.md': 'Do it.\r\nNow.\r\n',
    'tests/test.sh': '#!/bin/bash\r\nexit\r\n',
    'tests/data.txt': 'a\r\n',
    'tests/run': '#!/usr/bin/env bash\r\n',
  });
  assert.equal(task.instruction, 'Do it.\nNow.\n');
  assert.deepEqual(task.warnings.map(({ file }) => file).sort(), ['instruction.md', 'tests/run', 'tests/test.sh']);
  assert.equal(String(await readForSandbox(join(task.tests!, 'test.sh'))), '#!/bin/bash\nexit\n');
  assert.equal(String(await readForSandbox(join(task.tests!, 'data.txt'))), 'a\r\n');
});

test('symbolic links inside the task are kept, those that leave it are refused by name', async (t) => {
  assert.equal((await load(t, { 'tests/again.sh': { link: './test.sh' } })).id, 'sample');
  assert.equal((await load(t, { 'tests/later': { link: 'not-there' } })).id, 'sample');
  await fails(t, { 'tests/x': { link: '/etc/passwd' } }, 'task_refused', /tests\/x: is a symbolic link that leaves/);
  await fails(t, { 'solution/x': { link: '../../other' } }, 'task_refused', /solution\/x: is a symbolic link/);
  const roundabout = { 'environment/deep/up': { link: '../..' }, 'environment/deep/x': { link: 'up/../../etc' } };
  await fails(t, roundabout, 'task_refused', /environment\/deep\/x/);
});

test('a file of the task itself is no link either', async (t) => {
  const outside = { 'instruction.md': { link: '/etc/hostname' } };
  await fails(t, outside, 'task_refused', /instruction\.md: is a symbolic link that leaves/);
  await fails(
    t,
    { 'task.toml': { link: '/etc/hostname' } },
    'task_refused',
    /task\.toml: is a symbolic link that leaves/,
  );
});

test('the checksum follows content, names and executable bits, not times', async (t) => {
  const dir = await taskDirectory(t);
  const { checksum } = await loadTask(dir);
  await utimes(join(dir, 'tests/test.sh'), 1, 1);
  assert.equal((await loadTask(dir)).checksum, checksum);
  assert.equal((await load(t)).checksum, checksum);
  await chmod(join(dir, 'tests/test.sh'), 0o644);
  assert.notEqual((await loadTask(dir)).checksum, checksum);
  assert.notEqual((await load(t, { 'tests/more': '' })).checksum, checksum);
  assert.notEqual((await load(t, { 'instruction.md': 'Other.\n' })).checksum, checksum);
});

test('a separate verifier needs an image: its own or tests/Dockerfile', async (t) => {
  await fails(t, { 'task.toml': SEPARATE }, 'task_invalid', /tests\/Dockerfile: is missing/);
  const built = await load(t, { 'task.toml': SEPARATE, 'tests/Dockerfile': 'FROM x\n', 'tests/test.sh': undefined });
  assert.ok(built.separate?.kind === 'dockerfile');
  assert.equal(built.separate.context, built.tests);
  const named = await load(t, { 'task.toml': '[verifier.environment]\ndocker_image = "a@1"\ncpus = 3\n' });
  assert.ok(named.separate?.kind === 'image');
  assert.deepEqual([named.separate.ref, named.separate.config.cpus], ['a@1', 3]);
});

test('each step has its instruction, its files and the settings it leaves to the task', async (t) => {
  const task = await load(t, {
    'task.toml': `${STEPS}[agent]\ntimeout_sec = 9\n`,
    'instruction.md': undefined,
    'steps/one/instruction.md': 'First.\n',
    'steps/one/workdir/setup.sh': 'true\n',
    'steps/two/instruction.md': 'Then.\n',
    'steps/two/tests/test.sh': 'true\n',
    'steps/two/solution/solve.sh': 'true\n',
  });
  assert.equal(task.instruction, '');
  const [one, two] = task.steps;
  assert.deepEqual([one!.instruction, two!.instruction], ['First.\n', 'Then.\n']);
  assert.equal(one!.setup, join(one!.dir, 'workdir/setup.sh'));
  assert.deepEqual([one!.tests, one!.solution, two!.workdir, two!.setup], [null, null, null, null]);
  assert.equal(two!.tests, join(two!.dir, 'tests'));
  assert.equal(two!.agent.timeoutMs, 9000);
});

test('a step without folder, instruction or any tests is invalid', async (t) => {
  const one = { 'task.toml': '[[steps]]\nname = "one"\n' };
  await fails(t, one, 'task_invalid', /there is no directory steps\/one/);
  await fails(t, { ...one, 'steps/one/x': '' }, 'task_invalid', /steps\/one\/instruction\.md: is missing/);
  const untested = { ...one, 'steps/one/instruction.md': 'x', 'tests/test.sh': undefined };
  await fails(t, untested, 'task_invalid', /steps\/one\/tests\/test\.sh: is missing/);
});
