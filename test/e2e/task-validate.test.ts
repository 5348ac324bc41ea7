/** `viv task validate` against a real node: what is sound passes quietly, each flaw is named. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import type { ValidationReport } from '@vivarium/eval';
import { collect } from '@vivarium/sdk';
import { runViv, startTestNode, type TestNode } from '../harness/node.ts';
import { type TaskFiles, TaskSet } from '../harness/task-set.ts';

const SOLVE = '#!/bin/bash\n# writes what the instruction asks for\nprintf hello > /srv/hello.txt\n';
const GRADE = 'if [ "$(cat /srv/hello.txt 2>/dev/null)" = hello ]; then r=1; else r=0; fi\n';
const WRITE = 'echo "$r" > /logs/verifier/reward.txt\n';

let node: TestNode;
const tasks = new TaskSet();
const set = join(tasks.root, 'tasks');

before(async () => {
  node = await startTestNode();
});
after(async () => {
  tasks[Symbol.dispose]();
  await node.purge();
});

function task(name: string, files: TaskFiles = {}): void {
  tasks.task('tasks', name, { 'solution/solve.sh': SOLVE, ...files });
}

function validate(...args: string[]): { code: number; report: ValidationReport } {
  const { code, stdout, stderr } = runViv(node, ['task', 'validate', set, '--json', '-q', ...args]);
  assert.notEqual(stdout, '', stderr);
  return { code, report: JSON.parse(stdout) as ValidationReport };
}

function rulesOf(report: ValidationReport, id: string): string[] {
  const found = report.tasks.find((each) => each.id === id);
  assert.ok(found, `${id} is in the report`);
  return found.findings.map(({ severity, rule }) => `${severity} ${rule}`);
}

test('a sound task passes, and each flaw of another is named', async () => {
  task('sound');
  task('free', { 'tests/test.sh': `#!/bin/bash\nr=1\n${WRITE}` });
  task('wrong', { 'solution/solve.sh': '#!/bin/bash\n# does something else entirely\ntrue\n' });
  task('installs', { 'tests/test.sh': `#!/bin/bash\necho x > /usr/local/bin/tool\n${GRADE}${WRITE}` });
  task('leaks', { 'environment/notes/old.sh': SOLVE });
  const { code, report } = validate('-k', '2');
  assert.equal(code, 1);
  assert.deepEqual(rulesOf(report, 'sound'), []);
  assert.deepEqual(rulesOf(report, 'free'), ['error nop_passes']);
  assert.deepEqual(rulesOf(report, 'wrong'), ['error oracle_fails']);
  assert.deepEqual(rulesOf(report, 'installs'), ['warning changes_system_at_grade_time']);
  assert.deepEqual(rulesOf(report, 'leaks'), ['error answer_in_environment', 'error answer_in_image']);
  const left = (await collect(node.viv.images.list())).filter(({ name }) => name.startsWith('trial/'));
  assert.deepEqual(left, [], 'the states of the trials are gone');
  assert.deepEqual(await collect(node.viv.sandboxes.list({ states: ['running', 'paused'] })), []);
});

test('an answer in the history of a repository in the image is found', () => {
  rmSync(set, { recursive: true });
  task('history');
  const repo = join(set, 'history/environment/app');
  mkdirSync(repo, { recursive: true });
  const git = (...args: string[]) =>
    execFileSync('git', ['-C', repo, '-c', 'user.name=a', '-c', 'user.email=a@example.org', ...args], {
      stdio: 'pipe',
    });
  git('init', '-q');
  writeFileSync(join(repo, 'a.txt'), 'before');
  git('add', '.');
  git('commit', '-qm', 'start');
  writeFileSync(join(repo, 'fix.sh'), SOLVE);
  git('add', '.');
  git('commit', '-qm', 'the fix');
  git('tag', 'later');
  git('reset', '-q', '--hard', 'HEAD~1');
  const { report } = validate('-k', '1');
  assert.deepEqual(rulesOf(report, 'history'), ['error answer_in_history', 'warning history_beyond_head']);
  assert.match(JSON.stringify(report.tasks[0]!.findings), /the fix/);
});

test('a set with a broken task is not sound, and the sound ones are checked all the same', () => {
  rmSync(set, { recursive: true });
  task('good');
  task('bad', { 'task.toml': '[environment]\ngpus = 1\n' });
  task('unbuilt', {
    'task.toml': '[agent]\ntimeout_sec = 60\n',
    'environment/Dockerfile': 'FROM base/debian@12\nRUN exit 3\n',
  });
  const { code, report } = validate('-k', '1');
  assert.equal(code, 1);
  assert.deepEqual(
    report.broken.map(({ folder, code: why }) => [folder, why]),
    [['bad', 'task_refused']],
  );
  assert.equal(report.tasks[0]!.ok, true);
  assert.deepEqual(rulesOf(report, 'unbuilt'), ['error build_failed']);
  const { runs } = report.tasks[1]!;
  assert.deepEqual(
    runs.map(({ agent }) => agent),
    ['oracle'],
    'what failed once is not built again for nop',
  );
});

test('reading files only needs no server', () => {
  const env = { VIV_URL: 'http://127.0.0.1:1', VIV_API_KEY: 'none' };
  const { code, stdout } = runViv({ ...node, url: env.VIV_URL, key: env.VIV_API_KEY }, [
    'task',
    'validate',
    set,
    '--static',
  ]);
  assert.equal(code, 1);
  assert.match(stdout, /✓ good/);
});
