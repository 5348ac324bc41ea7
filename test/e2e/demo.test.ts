import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { test } from 'node:test';
import { down } from '@vivarium/node';
import { linkImages } from '../harness/image-cache.ts';
import { noteStateDir } from '../harness/node.ts';

const ROOT = resolve(import.meta.dirname, '../..');

test('the demo solves every task every time and leaves nothing running', async () => {
  const stateDir = join(mkdtempSync(join(tmpdir(), 'viv-demo-')), 'state');
  mkdirSync(stateDir);
  noteStateDir(stateDir);
  linkImages(stateDir, false);
  const { status, stdout, stderr } = spawnSync(process.execPath, ['scripts/demo.ts'], {
    cwd: ROOT,
    env: { ...process.env, VIV_DEMO_STATE_DIR: stateDir },
    encoding: 'utf8',
  });
  assert.equal(status, 0, stdout + stderr);
  assert.match(stdout, /44 trials of 11 tasks, 44 with reward 1, in [\d.]+ s: \d+ trials\/min\n$/);
  assert.match(stderr, /viv: down/);
  await down({ stateDir, purge: true }, () => {});
});
