import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { closeSync, mkdtempSync, openSync, rmSync, statfsSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, test } from 'node:test';
import { verifyChain } from '@vivarium/core';
import { inMountNamespace } from './drivers/container/test-node.ts';
import { FakeEdge } from './fakes/fake-edge.ts';

/** A state directory on a file system of 8 MiB that is filled to the last byte while commands run and sandboxes come and go. */
if (inMountNamespace(import.meta.filename)) {
  let fake: FakeEdge;
  let dir: string;
  const full = { code: 'node_disk_full' };

  beforeEach(async () => {
    dir = mkdtempSync(join(tmpdir(), 'viv-full-'));
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=8m', 'tmpfs', dir]);
    fake = await FakeEdge.open({}, dir);
  });
  afterEach(async () => {
    await fake.edge.close();
    execFileSync('umount', ['--lazy', dir]);
    rmSync(dir, { recursive: true, force: true });
  });

  const fill = () => {
    const fd = openSync(join(dir, 'filler'), 'a');
    try {
      for (let size = 1 << 20; size >= 1; size = Math.floor(size / 2)) {
        try {
          for (;;) writeSync(fd, Buffer.alloc(size));
        } catch {
          // On with smaller pieces.
        }
      }
    } finally {
      closeSync(fd);
    }
    assert.equal(statfsSync(dir).bavail, 0);
  };
  const free = () => rmSync(join(dir, 'filler'));
  const process = (id: string, exec: string) => fake.driver.guest(id).process(exec);
  const state = (id: string) => fake.edge.sandboxes.get(id).state;
  /** Until the journal does not fit into its last page either. */
  const stuff = async (id: string) => {
    for (let i = 0; i < 200; i++) {
      try {
        await fake.run(id, ['print', 'x'.repeat(500)]);
      } catch (error) {
        assert.equal((error as { code: string }).code, full.code);
        return;
      }
    }
    assert.fail('the disk is not full');
  };

  test('a command whose end can’t be written down is told as such, and its end is on file when there is room', async () => {
    const { id } = await fake.create();
    const unary = fake.run(id, ['wait']);
    await fake.clock.advance(10);
    const stream = await fake.start(id, ['wait']);
    fill();
    await stuff(id);
    const [first] = [...fake.driver.guest(id).processes.values()];
    const refused = assert.rejects(unary, full);
    first!.print('out');
    first!.exit('exited', 3);
    await refused;
    const done = assert.rejects(stream.done, full);
    process(id, stream.exec.id).exit('signaled', 11);
    await done;
    assert.equal((await fake.edge.execs.get(id, stream.exec.id)).state, 'running');
    assert.equal(fake.driver.guest(id).processes.size, 2, 'the guest keeps both');
    await assert.rejects(fake.run(id, ['true']), full);
    free();
    await fake.clock.advance(1500);
    assert.deepEqual((await fake.edge.execs.get(id, stream.exec.id)).outcome, { type: 'signaled', signal: 11 });
    const [listed] = (await fake.edge.execs.list(id, { limit: 1000 })).items;
    assert.deepEqual([listed!.state, listed!.outcome], ['ended', { type: 'exited', code: 3 }]);
    assert.equal(fake.driver.guest(id).processes.size, 0, 'the guest was told to forget them');
    assert.equal((await fake.run(id, ['true'])).exitCode, 0);
    verifyChain(await fake.edge.sandboxes.logs(id, -1, 1000));
  });

  test('what could not be written down before a crash is known after it', async () => {
    const { id } = await fake.create();
    const { exec } = await fake.start(id, ['wait']);
    fill();
    await stuff(id);
    process(id, exec.id).print('kept');
    process(id, exec.id).exit('exited', 5);
    await fake.edge.close();
    fill();
    await fake.open();
    assert.deepEqual(fake.edge.adopted, { adopted: 1, lost: 0 }, 'a full disk does not hinder a start');
    free();
    await fake.clock.advance(1500);
    const result = await fake.edge.execs.result(id, exec.id, 1000);
    assert.deepEqual(
      [result.outcome, Buffer.from(result.stdoutB64, 'base64').toString()],
      [{ type: 'exited', code: 5 }, 'kept'],
    );
  });

  test('sandboxes end on a full disk, are ended for everybody who asks, and for the next start', async () => {
    const ids: string[] = [];
    for (let i = 0; i < 40; i++) ids.push((await fake.create()).id);
    const [one, running] = ids as [string, string];
    const { exec } = await fake.start(running, ['wait']);
    fill();
    await stuff(one);
    await assert.rejects(fake.create(), full);
    for (const id of ids) assert.equal((await fake.edge.sandboxes.kill(id)).state, 'ended');
    assert.equal(fake.driver.cells.size, 0);
    const list = (states: ('running' | 'ended')[]) => fake.edge.sandboxes.list({ states }, { limit: 100 }).items.length;
    assert.deepEqual([state(one), list(['running']), list(['ended'])], ['ended', 0, 40]);
    assert.equal((await fake.edge.execs.get(running, exec.id)).state, 'ended');
    assert.ok((await fake.edge.execs.list(running, { limit: 10 })).items.every((item) => item.state === 'ended'));
    free();
    await fake.clock.advance(2000);
    await fake.restart();
    assert.deepEqual(fake.edge.adopted, { adopted: 0, lost: 0 });
    assert.deepEqual([list(['running']), list(['ended'])], [0, 40]);
    assert.equal(fake.edge.sandboxes.get(one).endReason, 'killed');
  });

  test('pausing, holding, leases and keys on a full disk are refused or put off, and work when there is room', async () => {
    const held = await fake.create({ ttlS: 100, onTimeout: 'pause' });
    const other = await fake.create();
    fill();
    await stuff(other.id);
    const owner = { keyId: 'k', maxSandboxes: null };
    let leases = 0;
    assert.throws(() => {
      for (; leases < 10_000; leases++) fake.edge.leases.create({ graceS: 60, onExpire: 'kill' }, owner);
    }, full);
    await assert.rejects(fake.edge.sandboxes.pause(other.id), full);
    assert.equal(state(other.id), 'running');
    assert.throws(() => fake.edge.sandboxes.update(other.id, { labels: { a: 'b' } }), full);
    assert.deepEqual(fake.edge.sandboxes.get(other.id).labels, {});
    await fake.clock.advance(101_000);
    assert.equal(state(held.id), 'running');
    free();
    await fake.clock.advance(10_000);
    assert.equal(state(held.id), 'paused');
    assert.equal((await fake.edge.sandboxes.pause(other.id)).state, 'paused');
    assert.equal((await fake.edge.sandboxes.resume(other.id)).state, 'running');
  });
}
