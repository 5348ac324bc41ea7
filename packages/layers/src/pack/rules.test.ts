import assert from 'node:assert/strict';
import { test } from 'node:test';
import { GlobSet } from '@vivarium/protocol/glob-set.ts';
import { REMOVED } from './rules.ts';

/** The rules that a path falls under by its name, or one of the directories above it. */
function rulesFor(path: string): string[] {
  const globs = REMOVED.filter(({ contains, type }) => !contains && !type);
  const ruleOf = globs.flatMap((rule) => rule.globs.map(() => rule.name));
  const set = new GlobSet(globs.flatMap(({ globs: each }) => each));
  const found = new Set<string>();
  let { start: state } = set;
  for (const name of path.split('/').filter(Boolean)) {
    const step = set.step(state, name);
    for (const match of step.matches) found.add(ruleOf[match]!);
    ({ state } = step);
  }
  return [...found];
}

test('residue falls under the rule of its kind', () => {
  const expected: Record<string, string> = {
    '/var/cache/apt/archives/gcc.deb': 'packages',
    '/var/lib/apt/lists/deb.debian.org_Packages': 'packages',
    '/root/.cache/pip/http/1': 'caches',
    '/home/agent/.cache/uv/x': 'caches',
    '/home/agent/.npm/_cacache/index': 'packages',
    '/root/.ssh/id_ed25519': 'credentials',
    '/home/agent/.aws/credentials': 'credentials',
    '/home/agent/.bash_history': 'history',
    '/app/src/__pycache__/a.cpython-311.pyc': 'bytecode',
    '/app/.pytest_cache/v/cache': 'bytecode',
    '/var/log/apt/history.log': 'logs',
    '/tmp/x': 'temporary',
    '/etc/ssh/ssh_host_rsa_key': 'identity',
    '/tests/test_outputs.py': 'answers',
    '/logs/verifier/reward.txt': 'answers',
    '/app/.main.py.swp': 'editor',
  };
  for (const [path, rule] of Object.entries(expected)) assert.deepEqual(rulesFor(path), [rule], path);
});

test('what a sandbox was asked to make falls under none', () => {
  const paths = [
    '/app/tests/test_a.py',
    '/app/solution',
    '/app/logs/out.txt',
    '/root/.ssh/authorized_keys',
    '/app/tmp/x',
  ];
  paths.push('/root/.ssh/config', '/root/.bashrc', '/root/.config/app.toml', '/usr/local/bin/core', '/srv/cache/x');
  paths.push('/var/lib/app/data', '/home/agent/work/history.txt', '/logs', '/tmp', '/var/log', '/opt/venv/lib/x.py');
  for (const path of paths) assert.deepEqual(rulesFor(path), [], path);
});

test('every rule has a reason, and a pattern that reads like one', () => {
  for (const { name, reason, globs } of REMOVED) {
    assert.match(name, /^[a-z]+$/);
    assert.ok(reason.length > 5);
    for (const glob of globs) assert.ok(glob.length > 0 && !glob.endsWith('/'), glob);
  }
});
