import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { test } from 'node:test';

const MAIN = join(import.meta.dirname, 'main.ts');

test('a wrong option of up, down or doctor is named, with where the right ones are listed', () => {
  for (const verb of ['up', 'down', 'doctor']) {
    const { status, stderr } = spawnSync(process.execPath, [MAIN, verb, '--bogus'], { encoding: 'utf8' });
    assert.equal(status, 2);
    assert.equal(stderr, `viv: unknown option '--bogus'\nhint: \`viv help ${verb}\` lists the options.\n`);
  }
});
