import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { findInstalls } from './install-scan.ts';

const tools = (script: string) => findInstalls(script).map(({ line, tool }) => `${line} ${tool}`);

test('installers are found behind operators, assignments, options and line ends', () => {
  const script = [
    '#!/bin/bash',
    'apt-get update && apt-get install -y curl',
    'DEBIAN_FRONTEND=noninteractive apt-get -qq install x',
    'sudo -E apt install x',
    'curl -LsSf https://astral.sh/uv/install.sh | sh',
    'if ! command -v uv; then pip3 install uv; fi',
    'python3 -m pip install \\',
    '  pytest==8',
    'uvx -p 3.13 -w pytest==8.4.1 pytest /tests/test_outputs.py',
    '(cd /x && npm ci)',
    'source $HOME/.venv/bin/activate; /usr/bin/pip install y',
    'git clone https://example.org/x',
  ].join('\n');
  assert.deepEqual(tools(script), [
    '2 apt',
    '3 apt',
    '4 apt',
    '5 curl',
    '6 pip',
    '7 pip',
    '9 uv',
    '10 npm',
    '11 pip',
    '12 git',
  ]);
});

test('what only looks like it is left alone', () => {
  const script = [
    '# apt-get install x',
    'echo "do not apt"',
    'curl -sf http://localhost:8080/health',
    'wget -qO- http://127.0.0.1/',
    'pip install --no-index --find-links /wheels x',
    'python3 /tests/judge.py',
    'git -C /app log',
    'grep npm README',
  ].join('\n');
  assert.deepEqual(tools(script), []);
});

test('any text is answered', () => {
  fc.assert(fc.property(fc.string({ maxLength: 2000 }), (script) => Array.isArray(findInstalls(script))));
});

test('hostile lines are no work', () => {
  for (const text of ['a='.repeat(200_000), '- '.repeat(200_000), ' '.repeat(400_000), '; sudo -'.repeat(100_000)])
    assert.deepEqual(findInstalls(text), []);
});
