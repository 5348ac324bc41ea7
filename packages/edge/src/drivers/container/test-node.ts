import { execFileSync, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { appendFileSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { removeTree } from '../../limits/cell-group.ts';
import { basesOf } from '../../limits/hierarchy.ts';
import { type Spawner, startSpawner } from '../../spawner/client.ts';
import type { DriverUnderTest } from '../contract.ts';
import type { LayerMount } from '../driver.ts';
import { type ContainerDriver, createContainerDriver } from './driver.ts';
import { paths } from './place.ts';
import { makeTestImage } from './test-image.ts';

const REPOSITORY = join(import.meta.dirname, '../../../../..');
const INSIDE = 'VIV_TEST_NAMESPACE';

/**
 * Test files that mount run in a mount namespace of their own. False in the process that was started normally: it has
 * run the file again in such a namespace and takes over its exit code.
 */
export function inMountNamespace(file: string, args: string[] = [], prepare = hideUnifiedCgroups): boolean {
  if (process.env[INSIDE] === '1') {
    prepare();
    return true;
  }
  const argv = ['--mount', '--propagation', 'private', process.execPath, ...process.execArgv, file, ...args];
  const { status } = spawnSync('unshare', argv, { stdio: 'inherit', env: { ...process.env, [INSIDE]: '1' } });
  process.exitCode = status ?? 1;
  return false;
}

/** crun refuses a mixture of cgroup v1 and v2; this namespace is ours, so v2 goes out of sight (as the holder does it). */
function hideUnifiedCgroups(): void {
  const lines = readFileSync('/proc/self/mountinfo', 'utf8').split('\n');
  if (!lines.some((line) => line.includes(' - cgroup '))) return;
  for (const line of lines) if (line.includes(' - cgroup2 ')) execFileSync('umount', [line.split(' ')[4]!]);
}

/** Only cgroup v2 is left in sight, with whatever controllers v1 does not hold. */
export function showUnifiedCgroupsOnly(): void {
  execFileSync('sh', ['-c', 'umount -R /sys/fs/cgroup; mount -t cgroup2 cgroup2 /sys/fs/cgroup']);
}

export type TestNode = DriverUnderTest & {
  driver: ContainerDriver;
  spawner: Spawner;
  stateDir: string;
  runDir: string;
};

/** A node of its own in temporary directories, with a small image; `close` leaves nothing of it. */
export async function openTestNode(): Promise<TestNode> {
  const stateDir = realpathSync(mkdtempSync(join(tmpdir(), 'viv-driver-')));
  const runDir = `/run/vivarium-${createHash('sha256').update(stateDir).digest('hex').slice(0, 8)}`;
  mkdirSync(runDir, { recursive: true });
  if (process.env.VIV_TEST_RUN) appendFileSync(join(tmpdir(), 'run-dirs'), `${runDir}\n`);
  writeFileSync(join(stateDir, 'vivarium-state'), '');
  const image = makeTestImage(stateDir);
  const spawner = startSpawner();
  const layers: LayerMount[] = [];
  for (const [index, file] of image.entries()) {
    const path = `${runDir}/layers/${index}`;
    await spawner.mountErofs(file, path);
    layers.push({ digest: `${index}`, path });
  }
  const vivInitPath = join(REPOSITORY, 'guest/build/viv-init');
  const open = () => createContainerDriver({ stateDir, runDir, vivInitPath, spawner, scratchMiBMax: 8192 });
  const driver = await open();
  const { hierarchy } = driver.place;
  const controls = (name: string) => hierarchy.version === 1 || hierarchy.controllers.includes(name);
  const node: TestNode = {
    driver,
    enforces: { memory: controls('memory'), pids: controls('pids') },
    spawner,
    layers,
    stateDir,
    runDir,
    reopen: async () => {
      node.driver = await open();
      return node.driver;
    },
    close: async () => {
      await node.driver.sweep(new Set());
      for (const { path } of layers) await spawner.umount(path);
      for (const path of [paths.scratch(runDir), paths.crun(runDir), paths.temporary(runDir)])
        await spawner.umount(path);
      await spawner.close();
      for (const base of basesOf(node.driver.place.hierarchy)) removeTree(base);
      rmSync(runDir, { recursive: true, force: true });
      rmSync(stateDir, { recursive: true, force: true });
    },
  };
  return node;
}
