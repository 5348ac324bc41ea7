import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { type E2bNode, startE2bNode } from '../../harness/e2b.ts';

const EXAMPLES = join(import.meta.dirname, '../../../examples');

let node: E2bNode;
before(async () => {
  node = await startE2bNode({ interpreter: true });
});
after(() => node.close());

test('the JavaScript example runs with nothing but the variables of `viv e2b env`', async () => {
  const lines = (await output(process.execPath, [join(EXAMPLES, 'e2b-js/main.js')])).trim().split('\n');
  assert.match(lines[0]!, /^sandbox [a-z0-9]{20}$/);
  assert.match(lines[1]!, /^hello from Python 3\./);
  assert.match(lines[2]!, /^server has pid \d+$/);
  assert.equal(lines[3], 'after a pause: print("hello from Python", platform.python_version())');
  assert.match(lines[4]!, /^a copy has .*hello\.py/);
  assert.deepEqual(lines.slice(5), ['of the template: built in', 'code gives 42']);
});

test('the Python example is valid Python; its client can’t be had here', () => {
  execFileSync('python3', [
    '-c',
    `import ast; ast.parse(open(${JSON.stringify(join(EXAMPLES, 'e2b-python/main.py'))}).read())`,
  ]);
});

function output(program: string, args: string[]): Promise<string> {
  const child = spawn(program, args, { env: { ...process.env, ...node.env }, stdio: ['ignore', 'pipe', 'pipe'] });
  let [stdout, stderr] = ['', ''];
  child.stdout.on('data', (data) => {
    stdout += data;
  });
  child.stderr.on('data', (data) => {
    stderr += data;
  });
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code) =>
      code === 0 ? resolve(stdout) : reject(new Error(`exit ${code}\n${stdout}\n${stderr}`)),
    );
  });
}
