import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { openShell } from '../contract-shell.ts';
import type { CellSpec } from '../driver.ts';
import { inMountNamespace, openTestNode, type TestNode } from './test-node.ts';

/** What a process inside can tell of how its cell was started. */
const LOOK = `
awk '{print $4, $5, $6, $(NF-2)}' /proc/self/mountinfo | sort
grep -e Cap -e NoNewPrivs -e Seccomp -e Groups -e '[UG]id' /proc/self/status /proc/1/status 2>&1
cat /proc/1/oom_score_adj /proc/self/limits /proc/self/uid_map /proc/self/gid_map /proc/self/cgroup | grep -v -e 'Max processes' -e 'file locks' | sed 's,/c-.*,/,'
ls -ln /dev /dev/pts /dev/shm /dev/mqueue / | grep -v -e '^total' | awk '{print $1, $3, $4, $NF}'
ip addr; hostname; umask; pwd; cat /proc/1/cmdline
for ns in user pid mnt net ipc uts cgroup; do readlink /proc/self/ns/$ns | sed 's/[0-9]*//g'; done
`;

if (inMountNamespace(import.meta.filename)) {
  let node: TestNode;
  before(async () => {
    node = await openTestNode();
  });
  after(() => node.close());

  const spec = (id: string, quick: boolean): CellSpec => ({
    id,
    hostname: 'box',
    layers: node.layers,
    limits: { cpuWeight: 100, cpus: 2, memoryMiB: 64, pids: 64, diskMiB: 32, nofile: 256, ptys: 4 },
    env: {},
    quick,
  });
  const lookAt = async (id: string, quick: boolean) => {
    const cell = await node.driver.start(spec(id, quick));
    const shell = await openShell(cell);
    const { stdout, code } = await shell.run(LOOK);
    await cell.destroy();
    assert.equal(code, 0);
    // The flags of /proc stay where a part of it is made read-only; the OCI runtime drops them there.
    return stdout.replaceAll(/^(\/\w+ \/proc\/(?:bus|fs|irq) ro),nosuid,nodev,noexec/gm, '$1').replaceAll(id, 'ID');
  };

  test('a cell that viv-start starts is like one that the OCI runtime starts', async () => {
    const [byCrun, byUs] = [await lookAt('startcrun', false), await lookAt('startours', true)];
    assert.equal(byUs, byCrun);
    assert.match(byUs, /CapBnd/);
  });

  test('an image whose /dev leads elsewhere is refused: its own file would be process 1, with rights that viv-init gives up', async () => {
    const layer = mkdtempSync(join(tmpdir(), 'viv-layer-'));
    symlinkSync('/proc/self/cwd/tmp', join(layer, 'dev'));
    const hostile = { ...spec('startlink', true), layers: [...node.layers, { digest: 'sha256:0', path: layer }] };
    await assert.rejects(node.driver.start(hostile), /\/dev of the image/);
    assert.deepEqual(await node.driver.sweep(new Set()), []);
    rmSync(layer, { recursive: true });
  });

  test('a cell that cannot be started says why and leaves nothing', async () => {
    const broken = { ...spec('startbroken', true), hostname: 'x'.repeat(65) };
    await assert.rejects(node.driver.start(broken), /hostname/);
    assert.deepEqual(await node.driver.sweep(new Set()), []);
  });

  test('a renewed cell has the limits it had and runs with the pids of a new one', async () => {
    let cell = await node.driver.start(spec('startagain', true));
    for (let round = 0; round < 3; round++) {
      const shell = await openShell(cell);
      const { stdout } = await shell.run('ls /; echo left > /left; (sleep 100 &); echo pid $$');
      assert.doesNotMatch(stdout, /left/);
      assert.match(stdout, /^pid [1-9]$/m);
      assert.equal((await cell.usage()).pidsLimit, 64);
      cell = await node.driver.renew(cell, spec('startagain', true));
    }
    const shell = await openShell(cell);
    assert.doesNotMatch((await shell.run('ls /')).stdout, /left/);
    await cell.destroy();
  });
}
