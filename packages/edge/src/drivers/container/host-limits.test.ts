import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { raiseHostLimits } from './host-limits.ts';

test('limits of the machine are raised, never lowered, and missing ones are let be', () => {
  const root = mkdtempSync(join(tmpdir(), 'viv-limits-'));
  try {
    mkdirSync(join(root, 'fs/inotify'), { recursive: true });
    mkdirSync(join(root, 'kernel'));
    writeFileSync(join(root, 'fs/inotify/max_user_instances'), '128\n');
    writeFileSync(join(root, 'kernel/pid_max'), '999999999\n');
    raiseHostLimits(root);
    assert.ok(Number(readFileSync(join(root, 'fs/inotify/max_user_instances'), 'utf8')) > 1_000_000);
    assert.equal(readFileSync(join(root, 'kernel/pid_max'), 'utf8'), '999999999\n');
  } finally {
    rmSync(root, { recursive: true });
  }
});
