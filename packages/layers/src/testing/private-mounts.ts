import { spawnSync } from 'node:child_process';

/**
 * Import this first in a test file that mounts: the file is run again in a mount namespace of its own, so that whatever a test mounts is gone
 * with it. The test runner's protocol passes through.
 */
const MARK = 'VIV_TEST_PRIVATE_MOUNTS';

if (process.env[MARK] === undefined) {
  const { status } = spawnSync(
    'unshare',
    ['--mount', '--propagation', 'private', '--', process.execPath, ...process.execArgv, ...process.argv.slice(1)],
    { stdio: 'inherit', env: { ...process.env, [MARK]: '1' } },
  );
  process.exit(status ?? 1);
}
