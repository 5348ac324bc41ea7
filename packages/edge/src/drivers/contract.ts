import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Change, type Limits, VivError } from '@vivarium/protocol';
import type { DriverUnderTest } from './contract-node.ts';
import { openShell, type Shell } from './contract-shell.ts';
import type { CellHandle, CellSpec, Driver } from './driver.ts';

export type { DriverUnderTest } from './contract-node.ts';

const LIMITS: Limits = { cpuWeight: 100, cpus: 2, memoryMiB: 64, pids: 64, diskMiB: 32, nofile: 256, ptys: 4 };

/** The suite that every driver passes. It talks to cells through the guest protocol only, so it is the same for all kinds. */
export function driverContract(open: () => Promise<DriverUnderTest>): void {
  describe('driver contract', () => {
    let node: DriverUnderTest;
    let driver: Driver;
    let count = 0;
    const cells = new Set<CellHandle>();

    before(async () => {
      node = await open();
      driver = node.driver;
    });
    after(async () => {
      await Promise.all([...cells].map((cell) => cell.destroy()));
      await node.close();
    });

    const spec = (limits: Partial<Limits> = {}, more: Partial<CellSpec> = {}): CellSpec => ({
      id: `c${process.pid}x${++count}`,
      hostname: 'box',
      layers: node.layers,
      limits: { ...LIMITS, ...limits },
      env: { GREETING: 'hello' },
      ...more,
    });
    const start = async (limits: Partial<Limits> = {}, more: Partial<CellSpec> = {}) => {
      const cell = await driver.start(spec(limits, more));
      cells.add(cell);
      return { cell, shell: await openShell(cell) };
    };

    test('a started cell runs commands with its environment and host name', async () => {
      const { cell, shell } = await start();
      const result = await shell.run('echo $GREETING; hostname; exit 3');
      assert.deepEqual(result, { stdout: 'hello\nbox\n', stderr: '', code: 3, signal: null });
      await end(cell, shell);
    });

    test('a renewed cell has nothing of what it was before, and ends as any other', async () => {
      const { cell: used, shell: before } = await start();
      await before.run('echo left > /tmp/left; sleep 1000 & hostname left');
      before.close();
      const cell = await driver.renew(used, { ...spec(), id: used.record.id });
      cells.add(cell);
      const shell = await openShell(cell);
      const { stdout } = await shell.run('ls /tmp; ps | grep -c "[s]leep 1000"; hostname; echo $GREETING');
      assert.equal(stdout, '0\nbox\nhello\n');
      await end(cell, shell);
    });

    test('two cells do not see each other', async () => {
      const [one, two] = await Promise.all([start(), start()]);
      await one.shell.run('echo one > /tmp/mark');
      assert.equal((await two.shell.run('cat /tmp/mark')).code, 1);
      assert.equal((await two.shell.run('kill -0 2')).code, 1);
      await Promise.all([end(one.cell, one.shell), end(two.cell, two.shell)]);
    });

    test('a start that fails leaves nothing behind', async () => {
      const broken = spec({}, { layers: [{ digest: 'none', path: '/nonexistent/layer' }] });
      await assert.rejects(driver.start(broken), VivError);
      assert.deepEqual(await driver.sweep(liveIds()), []);
      await assert.rejects(driver.prepare({ ...broken, layers: [] }), (error) => codeOf(error) === 'unsupported');
    });

    test('destroying ends everything, also twice and at once, and the end is seen', async () => {
      const { cell, shell } = await start();
      await shell.spawn('sleep 1000');
      await Promise.all([cell.destroy(), cell.destroy()]);
      await cell.destroy();
      await cell.ended;
      await assert.rejects(cell.connect(), (error) => codeOf(error) === 'sandbox_lost');
      await end(cell, shell);
    });

    test('the end of PID 1 is seen', async () => {
      const { cell, shell } = await start();
      await shell.cell.shutdown(0).catch(() => undefined);
      await cell.ended;
      await end(cell, shell);
    });

    test('a new driver adopts a live cell with its files and running commands', async () => {
      const { cell, shell } = await start();
      await shell.run('echo kept > /tmp/file');
      await shell.spawn('sleep 1000');
      shell.close();
      driver = await node.reopen();
      const again = await driver.adopt(JSON.parse(JSON.stringify(cell.record)));
      cells.delete(cell);
      cells.add(again);
      assert.deepEqual(await driver.sweep(liveIds()), []);
      const reopened = await openShell(again);
      assert.equal((await reopened.run('cat /tmp/file')).stdout, 'kept\n');
      assert.equal(reopened.cell.retained().length, 1);
      await end(again, reopened);
    });

    test('adopting a cell that is gone says so and leaves nothing of it', async () => {
      const { cell, shell } = await start();
      await shell.cell.shutdown(0).catch(() => undefined);
      await cell.ended;
      shell.close();
      cells.delete(cell);
      driver = await node.reopen();
      await assert.rejects(driver.adopt(cell.record), (error) => codeOf(error) === 'sandbox_lost');
      assert.deepEqual(await driver.sweep(liveIds()), []);
    });

    test('a sweep removes what nobody knows and leaves the rest', async () => {
      const [known, unknown] = [await start(), await start()];
      cells.delete(unknown.cell);
      known.shell.close();
      unknown.shell.close();
      driver = await node.reopen();
      assert.deepEqual(await driver.sweep(liveIds()), [unknown.cell.record.id]);
      const again = await driver.adopt(known.cell.record);
      cells.delete(known.cell);
      cells.add(again);
      const shell = await openShell(again);
      assert.equal((await shell.run('echo alive')).stdout, 'alive\n');
      await end(again, shell);
    });

    test('a paused cell stands still and goes on where it was', async () => {
      const { cell, shell } = await start();
      await shell.spawn('while :; do echo x >> /tmp/ticks; sleep 0.01; done');
      await cell.pause();
      const answer = shell.run('wc -l < /tmp/ticks');
      await sleep(100);
      const before = await settled(answer);
      await cell.resume();
      assert.equal(before, false, 'a paused cell answered');
      assert.equal((await answer).code, 0);
      await end(cell, shell);
    });

    test('a stopped cell keeps its files, also deleted ones stay away, and starts anew over them, again and again', async () => {
      let { cell, shell } = await start({}, { layers: node.layers });
      const anew = { ...spec(), id: cell.record.id };
      await shell.run('echo one > /root/file; rm /etc/group; mkdir /root/dir; head -c 99999 /dev/zero > /root/zeros');
      for (const [round, expected] of ['one\n', 'one\n1\n', 'one\n1\n2\n'].entries()) {
        await shell.spawn('trap "" TERM; sleep 1000');
        shell.close();
        await Promise.all([cell.stop(), cell.stop()]);
        await cell.ended;
        await assert.rejects(cell.connect(), (error) => codeOf(error) === 'sandbox_lost');
        const { pids, memoryBytes, diskBytes } = await cell.usage();
        assert.deepEqual([pids, memoryBytes, diskBytes >= 99_999], [0, 0, true]);
        const again = await driver.restart(JSON.parse(JSON.stringify(cell.record)), anew);
        cells.delete(cell);
        cells.add(again);
        [cell, shell] = [again, await openShell(again)];
        const found = await shell.run(
          'cat /root/file; test -e /etc/group || ps -o args | grep -c "^[s]leep"; ls -d /root/dir',
        );
        assert.equal(found.stdout, `${expected}0\n/root/dir\n`);
        await shell.run(`echo ${round + 1} >> /root/file`);
      }
      await end(cell, shell);
      assert.deepEqual(await driver.sweep(liveIds()), []);
    });

    test('changes, snapshots and disk limit of a stopped cell are those it had; it can be destroyed', async () => {
      const { cell, shell } = await start({ diskMiB: 16, memoryMiB: 256 });
      await shell.run('echo mine > /root/file');
      shell.close();
      await cell.stop();
      const found: string[] = [];
      for await (const { path } of cell.changes()) found.push(path);
      assert.deepEqual(found, ['/root/file']);
      const snapshot = await cell.snapshotScratch('stopped');
      const copy = await start({}, { scratchFrom: snapshot });
      await cell.dropSnapshot(snapshot);
      assert.equal((await copy.shell.run('cat /root/file')).stdout, 'mine\n');
      await end(copy.cell, copy.shell);
      const again = await driver.restart(cell.record, { ...spec({ diskMiB: 16, memoryMiB: 256 }), id: cell.record.id });
      const reopened = await openShell(again);
      assert.notEqual((await reopened.run('dd if=/dev/zero of=/root/big bs=1M count=64 conv=fsync')).code, 0);
      reopened.close();
      await again.stop();
      cells.delete(cell);
      await again.destroy();
      assert.deepEqual(await driver.sweep(liveIds()), []);
    });

    test('a restart that fails leaves it stopped with its files', async () => {
      const { cell, shell } = await start();
      await shell.run('echo mine > /root/file');
      shell.close();
      await cell.stop();
      const broken = { ...spec({}, { layers: [{ digest: 'none', path: '/nonexistent/layer' }] }), id: cell.record.id };
      await assert.rejects(driver.restart(cell.record, broken), VivError);
      const again = await driver.restart(cell.record, { ...spec(), id: cell.record.id });
      const reopened = await openShell(again);
      assert.equal((await reopened.run('cat /root/file')).stdout, 'mine\n');
      cells.delete(cell);
      await end(again, reopened);
    });

    test('a new driver adopts a stopped cell, and one that was to be stopped; one without files is lost', async () => {
      const [stopped, running, gone] = [await start(), await start(), await start()];
      for (const { shell } of [stopped, running, gone]) {
        await shell.run('echo kept > /root/file');
        shell.close();
      }
      await stopped.cell.stop();
      await gone.cell.destroy();
      driver = await node.reopen();
      await assert.rejects(driver.adoptStopped(gone.cell.record), (error) => codeOf(error) === 'sandbox_lost');
      for (const { cell } of [stopped, running]) {
        const adopted = await driver.adoptStopped(JSON.parse(JSON.stringify(cell.record)));
        assert.equal((await adopted.usage()).pids, 0);
      }
      cells.delete(gone.cell);
      assert.deepEqual(await driver.sweep(liveIds()), []);
      for (const { cell } of [stopped, running]) {
        const again = await driver.restart(cell.record, { ...spec(), id: cell.record.id });
        const shell = await openShell(again);
        assert.equal((await shell.run('cat /root/file')).stdout, 'kept\n');
        cells.delete(cell);
        await end(again, shell);
      }
    });

    test('a command that double-forks and leaves its session ends with its group', async () => {
      const { cell, shell } = await start();
      const command = await shell.spawn('setsid sh -c "setsid sleep 1000 & setsid sleep 1000 &" & sleep 1000');
      await until(async () => (await shell.run('ps -o args | grep -c "^[s]leep 1000"')).stdout.trim() === '3');
      await command.group?.kill();
      await until(async () => (await shell.run('ps -o args | grep -c "^[s]leep 1000"')).stdout.trim() === '0');
      await command.group?.release();
      await end(cell, shell);
    });

    test('a fork bomb stays under its limit, is denied more, and ends with its group', async (context) => {
      if (!node.enforces.pids) return context.skip('no pids controller here');
      const { cell, shell } = await start({ pids: 40 });
      const command = await shell.spawn('bomb() { bomb | bomb & }; bomb; sleep 1000');
      await until(async () => (await cell.usage()).pidsDenied > 0);
      assert.ok((await cell.usage()).pids <= 40);
      await command.group?.kill();
      await until(async () => (await cell.usage()).pids <= 3);
      assert.equal((await shell.run('echo alive')).stdout, 'alive\n');
      await end(cell, shell);
    });

    test('a memory hog is ended, counted, and the cell lives on', async (context) => {
      if (!node.enforces.memory) return context.skip('no memory controller here');
      const { cell, shell } = await start({ memoryMiB: 32 });
      const result = await shell.run('exec tail /dev/zero');
      assert.equal(result.signal, 9);
      assert.ok((await cell.usage()).oomKills > 0);
      assert.equal((await shell.run('echo alive')).stdout, 'alive\n');
      await end(cell, shell);
    });

    test('files end at the disk limit, and what they take is counted', async () => {
      const { cell, shell } = await start({ diskMiB: 16, memoryMiB: 256 });
      const result = await shell.run('dd if=/dev/zero of=/root/big bs=1M count=64 conv=fsync');
      assert.notEqual(result.code, 0);
      assert.match(result.stderr, /quota|No space/, JSON.stringify(result));
      const { diskBytes, diskLimitBytes } = await cell.usage();
      assert.equal(diskLimitBytes, 16 * 1024 * 1024);
      assert.ok(diskBytes <= diskLimitBytes, `${diskBytes} bytes`);
      await end(cell, shell);
    });

    test('usage counts time, memory and processes', async () => {
      const { cell, shell } = await start();
      await shell.run('i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done');
      const usage = await cell.usage();
      assert.ok(usage.cpuUsageUs > 0);
      assert.equal(usage.memoryLimitBytes, 64 * 1024 * 1024);
      assert.ok(usage.memoryPeakBytes <= usage.memoryLimitBytes);
      assert.equal(usage.memoryPeakBytes > 0, node.enforces.memory);
      assert.equal(usage.pidsLimit, 64);
      assert.equal(usage.oomKills, 0);
      await end(cell, shell);
    });

    test('changes names what was added, changed and deleted, and nothing else', async () => {
      const { cell, shell } = await start();
      await shell.run('echo new > /root/new; mkdir /root/dir; ln -s /etc/shadow /root/link; rm /etc/group');
      await shell.run('echo more >> /etc/passwd; touch -r /etc/passwd /etc/hosts; cat /bin/busybox > /dev/null');
      await cell.pause();
      const found = new Map<string, Change['change']>();
      for await (const { path, change } of cell.changes()) found.set(path, change);
      await cell.resume();
      const expected = [
        ['/etc/group', 'deleted'],
        ['/etc/hosts', 'added'],
        ['/etc/passwd', 'changed'],
        ['/root/dir', 'added'],
        ['/root/link', 'added'],
        ['/root/new', 'added'],
      ];
      assert.deepEqual([...found], expected);
      await end(cell, shell);
    });

    test('a cell starts from the snapshot of another and goes its own way', async () => {
      const { cell, shell } = await start();
      await shell.run('echo parent > /root/file; chown 1000 /root/file');
      const snapshot = await cell.snapshotScratch('fork');
      const fork = await start({}, { scratchFrom: snapshot });
      await cell.dropSnapshot(snapshot);
      assert.equal((await fork.shell.run('cat /root/file; stat -c %u /root/file')).stdout, 'parent\n1000\n');
      await fork.shell.run('echo child > /root/file');
      assert.equal((await shell.run('cat /root/file')).stdout, 'parent\n');
      await end(cell, shell);
      assert.equal((await fork.shell.run('cat /root/file')).stdout, 'child\n');
      await end(fork.cell, fork.shell);
    });

    test('a layer is mounted in a running cell, read-only, with its own ids, and taken away again', async () => {
      const { cell, shell } = await start();
      const layer = node.layers[0]!;
      await shell.run('mkdir /root/tools; ln -s /root/tools /root/link');
      await cell.attachLayer(layer, '/bin', '/root/tools');
      assert.equal((await shell.run('/root/tools/busybox echo works')).stdout, 'works\n');
      assert.equal((await shell.run('stat -c %u /root/tools')).stdout, '0\n');
      assert.notEqual((await shell.run('rm /root/tools/busybox')).code, 0);
      assert.notEqual((await shell.run('umount /root/tools')).code, 0);
      for (const at of ['/root/link', '/root/none', '/etc/passwd'])
        await assert.rejects(cell.attachLayer(layer, '/bin', at), (error) => codeOf(error) === 'path_not_found');
      await assert.rejects(
        cell.attachLayer(layer, '/none', '/root/tools'),
        (error) => codeOf(error) === 'path_not_found',
      );
      await cell.detachLayer('/root/tools');
      assert.equal((await shell.run('ls /root/tools')).stdout, '');
      await cell.detachLayer('/root/tools');
      const another = await start();
      assert.equal((await another.shell.run('echo alive')).stdout, 'alive\n');
      await end(another.cell, another.shell);
      await end(cell, shell);
    });

    test('all processes end but those of the commands that are kept, orphans and fork bombs too', async (t) => {
      if (node.oneCommand) return t.skip('its cells run one command at a time');
      const { cell, shell } = await start();
      await shell.run('setsid sh -c "setsid sleep 1001 & setsid sleep 1001 &"');
      const kept = await shell.spawn('sleep 1002 & sleep 1002');
      await shell.spawn('trap "" TERM; sleep 1001');
      // At the limit of processes a shell gives up: it must not get there.
      await shell.spawn('while :; do sleep 0.01 & sleep 0.001; done');
      await until(async () => (await shell.run('ps -o args | grep -c "^[s]leep 1001"')).stdout.trim() === '3');
      assert.ok((await cell.endProcesses([kept.execId])) >= 4);
      const { stdout } = await shell.run('ps -o args | grep "^[s]leep"');
      assert.equal(stdout, 'sleep 1002\nsleep 1002\n');
      assert.equal(await cell.endProcesses([kept.execId]), 0);
      await end(cell, shell);
    });

    async function end(cell: CellHandle, shell: Shell): Promise<void> {
      shell.close();
      await cell.destroy();
      cells.delete(cell);
    }

    function liveIds(): Set<string> {
      return new Set([...cells].map((cell) => cell.record.id));
    }
  });
}

function codeOf(error: unknown): string | undefined {
  return error instanceof VivError ? error.code : undefined;
}

/** Waits for a condition; how long is no part of the contract, so the bound is generous. */
async function until(condition: () => Promise<boolean>): Promise<void> {
  for (let round = 0; round < 1000; round++) {
    if (await condition()) return;
    await sleep(20);
  }
  assert.fail('it did not come about in 20 s');
}

async function settled(promise: Promise<unknown>): Promise<boolean> {
  return Promise.race([promise.then(() => true), sleep(0).then(() => false)]);
}
