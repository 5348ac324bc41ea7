/**
 * The second test bed: a Debian 12 guest with Linux 6.1 and cgroup v2, under software emulation. Everything that this machine's kernel
 * can't show natively (cgroup v2 limits, EROFS through loop devices, plain btrfs quotas, AppArmor) is shown there.
 */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { bootAndCheck } from './boot.ts';
import { makeDisks } from './disk.ts';

const CACHE = process.env.VIV_TEST_CACHE ?? '/var/cache/vivarium-test';

const emulator = spawnSync('qemu-system-x86_64', ['--version'], { stdio: 'ignore' }).status === 0;
const skip = emulator ? false : 'qemu-system-x86_64 is not there: apt-get install qemu-system-x86';

test('a node works on Linux 6.1 with cgroup v2', { timeout: 19 * 60_000, skip }, async (t) => {
  const work = mkdtempSync(join(tmpdir(), 'viv-vm-'));
  try {
    const disks = await makeDisks(CACHE, work);
    const { checks, exitCode, console: text } = await bootAndCheck(disks, 12 * 60_000);
    for (const { name, ok, detail } of checks) await t.test(name, () => assert.ok(ok, detail));
    assert.equal(exitCode, 0, `the guest did not finish: ${text.slice(-3000)}`);
    assert.ok(checks.length >= 14, `all checks ran (${checks.length})`);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
});
