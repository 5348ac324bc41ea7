import assert from 'node:assert/strict';
import { chmodSync, existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, afterEach, before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { VivError } from '@vivarium/protocol';
import { CellGroup } from '../../limits/cell-group.ts';
import { commandDir } from '../../limits/command-group.ts';
import { setFrozen } from '../../limits/freezer.ts';
import { basesOf } from '../../limits/hierarchy.ts';
import { startSpawner } from '../../spawner/client.ts';
import { openShell } from '../contract-shell.ts';
import type { CellHandle, CellSpec } from '../driver.ts';
import { createContainerDriver } from './driver.ts';
import { paths } from './place.ts';
import { inMountNamespace, openTestNode, type TestNode } from './test-node.ts';

const ROUNDS = 8;
const CELLS = 6;

if (inMountNamespace(import.meta.filename)) {
  describe('crashes of the container driver', () => {
    let node: TestNode;
    let count = 0;

    before(async () => {
      node = await openTestNode();
    });
    afterEach(async () => {
      await node.driver.sweep(new Set());
      assert.deepEqual(residue(node), []);
    });
    after(() => node.close());

    const spec = (): CellSpec => ({
      id: `k${process.pid}x${++count}`,
      hostname: 'box',
      layers: node.layers,
      limits: { cpuWeight: 100, cpus: 2, memoryMiB: 64, pids: 64, diskMiB: 32, nofile: 100, ptys: 2 },
      env: {},
    });

    test('a spawner killed under creates and destroys loses no cell and leaves nothing', async () => {
      for (let round = 0; round < ROUNDS; round++) {
        const life = Array.from({ length: CELLS }, async () => {
          const cell = await node.driver.start(spec());
          await answers(cell);
          await cell.destroy();
        });
        await sleep(round * 7);
        killSpawner(node);
        for (const end of await Promise.allSettled(life)) {
          // A second kill may hit the second try; then the error says that it was ours, not the caller's.
          if (end.status === 'rejected') assert.equal((end.reason as VivError).fault, 'infra', String(end.reason));
        }
      }
    });

    test('a spawner killed under stops and restarts loses no files', async () => {
      const specs = Array.from({ length: CELLS }, spec);
      const cells = await Promise.all(specs.map((each) => node.driver.start(each)));
      for (const cell of cells) await says(cell, 'echo mine > /root/file', '');
      for (let round = 0; round < ROUNDS; round++) {
        const lives = cells.map(async (cell, i) => {
          await cell.stop();
          cells[i] = await node.driver.restart(cell.record, specs[i]!);
        });
        await sleep(round * 9);
        killSpawner(node);
        for (const [i, end] of (await Promise.allSettled(lives)).entries()) {
          if (end.status === 'fulfilled') continue;
          assert.equal((end.reason as VivError).fault, 'infra', String(end.reason));
          cells[i] = await node.driver.restart(cells[i]!.record, specs[i]!);
        }
        for (const cell of cells) await says(cell, 'cat /root/file', 'mine\n');
      }
      await Promise.all(cells.map((cell) => cell.destroy()));
    });

    test('a live cell does not notice that the spawner is killed', async () => {
      const cell = await node.driver.start(spec());
      const shell = await openShell(cell);
      killSpawner(node);
      assert.equal((await shell.run('echo alive')).stdout, 'alive\n');
      shell.close();
      await cell.destroy();
    });

    test('the death of PID 1 is seen', async () => {
      const cell = await node.driver.start(spec());
      const shell = await openShell(cell);
      process.kill(cell.record.pid as number, 'SIGKILL');
      await cell.ended;
      shell.close();
      await cell.destroy();
    });

    test('a paused cell can be destroyed', async () => {
      const cell = await node.driver.start(spec());
      const shell = await openShell(cell);
      await shell.spawn('sleep 1000');
      await cell.pause();
      shell.close();
      await cell.destroy();
    });

    test('a cell is destroyed, and stopped, also when a command of it was left frozen', async () => {
      for (const end of ['destroy', 'stop'] as const) {
        const cell = await node.driver.start(spec());
        const shell = await openShell(cell);
        const { execId } = await shell.spawn('sleep 1000');
        const group = new CellGroup(node.driver.place.hierarchy, cell.record.id);
        setFrozen(commandDir(group, execId), group.version, true);
        shell.close();
        await cell[end]();
        if (end === 'stop') await cell.destroy();
      }
    });

    test('what crun says is in the error, and nothing of the cell is left', async () => {
      const crunPath = join(node.stateDir, 'crun');
      writeFileSync(
        crunPath,
        '#!/bin/sh\nwhile [ "$1" != --log ]; do shift; done; echo no container today > "$2"; exit 9\n',
      );
      chmodSync(crunPath, 0o755);
      const { stateDir, runDir, spawner } = node;
      const vivInitPath = paths.init(runDir);
      const driver = await createContainerDriver({ stateDir, runDir, vivInitPath, spawner, crunPath });
      await assert.rejects(driver.start(spec()), /no container today/);
      await node.reopen();
      assert.deepEqual(residue(node), []);
    });

    test('a node whose mount namespace is gone finds its cells again in a new one', async () => {
      const cell = await node.driver.start(spec());
      const shell = await openShell(cell);
      await shell.run('echo kept > /root/file');
      shell.close();
      for (const path of [paths.crun, paths.temporary, paths.scratch]) await node.spawner.umount(path(node.runDir));
      const driver = await node.reopen();
      const again = await driver.adopt(cell.record);
      const reopened = await openShell(again);
      assert.equal((await reopened.run('cat /root/file; sync')).stdout, 'kept\n');
      assert.ok((await again.usage()).diskBytes > 0);
      reopened.close();
      const other = await driver.start(spec());
      await answers(other);
      await Promise.all([again.destroy(), other.destroy()]);
    });

    test('a damaged record is an error, not a crash', async () => {
      const record = { id: 'x', kind: 'container', pid: -1 } as const;
      await assert.rejects(
        node.driver.adopt(record),
        (error) => error instanceof VivError && error.code === 'internal',
      );
    });

    test('a sweep finds what a server killed in mid-create has left', async () => {
      const spawner = startSpawner();
      const { stateDir, runDir } = node;
      const driver = await createContainerDriver({ stateDir, runDir, vivInitPath: paths.init(runDir), spawner });
      const starts = Array.from({ length: CELLS }, () => driver.start(spec()));
      const settled = Promise.allSettled(starts);
      await sleep(25);
      process.kill(spawner.pid!, 'SIGKILL');
      await spawner.close();
      await settled;
    });
  });
}

async function answers(cell: CellHandle): Promise<void> {
  await says(cell, 'echo alive', 'alive\n');
}

async function says(cell: CellHandle, command: string, expected: string): Promise<void> {
  const shell = await openShell(cell);
  assert.equal((await shell.run(command)).stdout, expected);
  shell.close();
}

function killSpawner(node: TestNode): void {
  const { pid } = node.spawner;
  if (pid !== null) process.kill(pid, 'SIGKILL');
}

/** Everything that belongs to a cell: files, mounts, control groups, processes. */
function residue({ runDir, driver }: TestNode): string[] {
  const dirs = [paths.cells, paths.snapshots, paths.bundles, paths.roots, paths.crunState, paths.sockets];
  const files = dirs.flatMap((dir) => readdirSync(dir(runDir)).map((name) => `${dir(runDir)}/${name}`));
  const mounts = readFileSync('/proc/self/mountinfo', 'utf8')
    .split('\n')
    .filter((line) => /\/(r|lower)\//.test(line) && line.includes(` ${runDir}/`));
  const groups = basesOf(driver.place.hierarchy).flatMap((base) =>
    readdirSync(base, { withFileTypes: true })
      .filter((entry) => entry.isDirectory())
      .map((entry) => join(base, entry.name)),
  );
  const processes = readdirSync('/proc').filter((name) => /^\d+$/.test(name) && isOurs(name, runDir));
  return [...files, ...mounts, ...groups, ...processes];
}

function isOurs(pid: string, runDir: string): boolean {
  try {
    return existsSync(`/proc/${pid}`) && readFileSync(`/proc/${pid}/cmdline`, 'latin1').includes(`${runDir}/`);
  } catch {
    return false;
  }
}
