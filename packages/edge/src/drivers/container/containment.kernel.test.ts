/** What a sandbox could take from the host and from other sandboxes, or learn of them. */
import assert from 'node:assert/strict';
import { statSync } from 'node:fs';
import { after, before, describe, test } from 'node:test';
import { openShell, type Shell } from '../contract-shell.ts';
import type { CellHandle } from '../driver.ts';
import { inMountNamespace, openTestNode, type TestNode } from './test-node.ts';

const MEMORY_MIB = 64;
const LIMITS = { cpuWeight: 100, cpus: 2, memoryMiB: MEMORY_MIB, pids: 64, diskMiB: 32, nofile: 4096, ptys: 2 };
const ENOMEM = -12;
const EINVAL = -22;

if (inMountNamespace(import.meta.filename)) {
  describe('containment of a container', () => {
    let node: TestNode;
    const cells: CellHandle[] = [];
    const shells: Shell[] = [];

    before(async () => {
      node = await openTestNode();
      for (const name of ['greedy', 'modest']) {
        const id = `${name}${process.pid}`;
        const cell = await node.driver.start({ id, hostname: name, layers: node.layers, limits: LIMITS, env: {} });
        cells.push(cell);
        shells.push(await openShell(cell));
      }
    });
    after(async () => {
      for (const shell of shells) shell.close();
      for (const cell of cells) await cell.destroy();
      await node?.close();
    });

    const output = async (shell: Shell, script: string) => (await shell.run(script)).stdout.trim();
    /** What the tool `take` got; it holds that until `release`. */
    const take = async (shell: Shell, what: string, max: number) => Number(await output(shell, `take ${what} ${max}`));
    const release = (shell: Shell) => shell.run('killall -9 take');

    for (const [what, max, wanted] of [
      ['timers', 200_000, 1000],
      ['queues', 50, 5],
      ['events', 100_000, 10_000],
    ] as const) {
      test(`one sandbox takes all the ${what} it gets, and another has its own`, async () => {
        const [greedy, modest] = shells as [Shell, Shell];
        assert.ok((await take(greedy, what, max)) >= wanted);
        const left = await take(modest, what, wanted);
        await Promise.all([release(greedy), release(modest)]);
        assert.ok(left >= wanted, `${left}`);
      });
    }

    for (const kind of ['tcp', 'udp']) {
      test(`what waits in ${kind} sockets is bounded by the memory limit`, async () => {
        // A hundred connections: the kernel lets each have a little, whatever the limit says.
        await output(shells[0]!, `ulimit -n ${kind === 'tcp' ? 300 : 4096}; take ${kind} ${MEMORY_MIB * 4}`);
        const line = await output(shells[0]!, `grep -i ^${kind}: /proc/net/sockstat`);
        await release(shells[0]!);
        // The count is of the whole machine, which does little else by TCP or UDP.
        const heldMiB = (Number(/mem (\d+)/.exec(line)![1]) * 4096) / 1024 / 1024;
        assert.ok(heldMiB <= MEMORY_MIB, `${heldMiB} MiB in a sandbox of ${MEMORY_MIB}`);
      });
    }

    test('a crash writes no core file and starts no program of the host, whatever limit is set', async () => {
      const limit = 'grep "core file" /proc/self/limits';
      assert.match(await output(shells[0]!, `ulimit -c unlimited; ulimit -c 0; ${limit}`), /size +1 +1 +bytes/);
      await shells[0]!.run("cd /tmp; ulimit -c unlimited; sh -c 'kill -SEGV $$'");
      assert.equal(await output(shells[0]!, 'ls /tmp'), '');
    });

    test('it can not take huge pages of the host, or have the host write out its disks', async () => {
      assert.equal(await output(shells[0]!, 'syscall 9 0 0x200000 3 0x40022 -1 0'), `${ENOMEM}`);
      assert.equal(await output(shells[0]!, 'syscall 319 /proc 4'), `${EINVAL}`);
      assert.equal(await output(shells[0]!, 'syscall 162'), '0');
    });

    test('its mounts tell neither paths of the host nor the id of the sandbox', async () => {
      const told = await output(shells[0]!, 'cat /proc/1/mountinfo /proc/mounts /proc/1/cmdline');
      assert.match(told, / overlay /);
      assert.doesNotMatch(told, new RegExp(`${node.runDir}|${node.stateDir}|vivarium|greedy${process.pid}`));
    });

    test('the devices of the host stay those of its root', async () => {
      for (const name of ['null', 'zero', 'full', 'tty', 'random', 'urandom'])
        assert.equal(statSync(`/dev/${name}`).uid, 0, name);
      for (const call of ['chown 0 /dev/null', 'chmod 666 /dev/null', 'touch -d 2001-01-01 /dev/null'])
        assert.notEqual((await shells[0]!.run(call)).code, 0, call);
    });

    test('how the host was booted is not told', async () => {
      assert.equal(await output(shells[0]!, 'wc -c < /proc/cmdline'), '0');
    });
  });
}
