import assert from 'node:assert/strict';
import { setTimeout as delay } from 'node:timers/promises';
import { NotFoundError, Sandbox } from 'e2b';
import { type Bed, type Checks, fresh } from './bed.ts';

const HOUR_MS = 3_600_000;

/** Static methods of `Sandbox`, and the same by an object. */
export const SANDBOX_CHECKS: Checks = {
  'Sandbox.create': async ({ connection }) => {
    const sandbox = await Sandbox.create('base', { ...connection, metadata: { a: 'b' }, envs: { GREETING: 'hello' } });
    try {
      assert.match(sandbox.sandboxId, /^[a-z0-9]{20}$/);
      const info = await sandbox.getInfo();
      assert.deepEqual(info.metadata, { a: 'b' });
      assert.equal((await sandbox.commands.run('echo $GREETING $E2B_SANDBOX')).stdout, 'hello true\n');
    } finally {
      await sandbox.kill();
    }
  },
  'Sandbox.connect': async ({ connection, sandbox }) => {
    const other = await Sandbox.connect(sandbox.sandboxId, connection);
    assert.equal((await other.commands.run('echo again')).stdout, 'again\n');
    await assert.rejects(Sandbox.connect('a'.repeat(20), connection), NotFoundError);
  },
  'Sandbox.list': async ({ connection, sandbox }) => {
    const items = await Sandbox.list({ ...connection, query: { state: ['running'] } }).nextItems();
    assert.ok(items.some(({ sandboxId }) => sandboxId === sandbox.sandboxId));
  },
  'sandboxPaginator.nextItems': async (bed) => {
    const mark = fresh('page');
    const options = { ...bed.connection, metadata: { mark } };
    const made = [await Sandbox.create('base', options), await Sandbox.create('base', options)];
    const pages = Sandbox.list({ ...bed.connection, query: { metadata: { mark } }, limit: 1 });
    const seen = [];
    while (pages.hasNext) seen.push(...(await pages.nextItems()).map(({ sandboxId }) => sandboxId));
    assert.deepEqual(seen, made.map(({ sandboxId }) => sandboxId).reverse());
    await Promise.all(made.map((sandbox) => sandbox.kill()));
  },
  'Sandbox.kill': async ({ node, connection }) => {
    const { sandboxId } = await node.create();
    assert.equal(await Sandbox.kill(sandboxId, connection), true);
    assert.equal(await Sandbox.kill(sandboxId, connection), false);
  },
  'sandbox.kill': async ({ node }) => {
    const sandbox = await node.create();
    assert.equal(await sandbox.kill(), true);
    assert.equal(await sandbox.isRunning(), false);
    assert.equal(await sandbox.kill(), false);
  },
  'sandbox.isRunning': async ({ sandbox }) => assert.equal(await sandbox.isRunning(), true),
  'Sandbox.getInfo': async ({ connection, sandbox }) => rightInfo(await Sandbox.getInfo(sandbox.sandboxId, connection)),
  'Sandbox.getFullInfo': async ({ connection, sandbox }) =>
    rightInfo(await Sandbox.getFullInfo(sandbox.sandboxId, connection)),
  'sandbox.getInfo': async ({ sandbox }) => rightInfo(await sandbox.getInfo()),
  'Sandbox.setTimeout': async ({ connection, sandbox }) => {
    await Sandbox.setTimeout(sandbox.sandboxId, HOUR_MS, connection);
    assert.ok((await endIn(sandbox)) > HOUR_MS - 60_000);
  },
  'sandbox.setTimeout': async ({ sandbox }) => {
    await sandbox.setTimeout(HOUR_MS / 2);
    const left = await endIn(sandbox);
    assert.ok(left > HOUR_MS / 2 - 60_000 && left <= HOUR_MS / 2, `${left} ms are left`);
  },
  'sandbox.connect': async ({ sandbox }) => {
    await sandbox.connect({ timeoutMs: HOUR_MS * 2 });
    assert.ok((await endIn(sandbox)) > HOUR_MS);
    await sandbox.connect({ timeoutMs: 1000 });
    assert.ok((await endIn(sandbox)) > HOUR_MS, 'a connect only extends');
  },
  'Sandbox.updateNetwork': async ({ connection, sandbox }) => {
    await Sandbox.updateNetwork(sandbox.sandboxId, { allowOut: ['10.0.0.1/32'], denyOut: ['0.0.0.0/0'] }, connection);
    const { network } = await sandbox.getInfo();
    assert.deepEqual([network?.allowOut, network?.denyOut], [['10.0.0.1/32'], ['0.0.0.0/0']]);
  },
  'sandbox.updateNetwork': async ({ sandbox }) => {
    await sandbox.updateNetwork({ denyOut: ['10.0.0.0/8'] });
    assert.deepEqual((await sandbox.getInfo()).network?.denyOut, ['10.0.0.0/8']);
    assert.deepEqual((await sandbox.getInfo()).network?.allowOut ?? [], []);
    await sandbox.updateNetwork({});
    assert.deepEqual((await sandbox.getInfo()).network?.denyOut ?? [], []);
  },
  'Sandbox.getMetrics': async ({ connection, sandbox }) =>
    rightMetrics(() => Sandbox.getMetrics(sandbox.sandboxId, connection)),
  'sandbox.getMetrics': async ({ sandbox }) => rightMetrics(() => sandbox.getMetrics()),
  'Sandbox.pause': (bed) => pausedAndResumed(bed, (sandbox) => Sandbox.pause(sandbox.sandboxId, bed.connection)),
  'Sandbox.betaPause': (bed) =>
    pausedAndResumed(bed, (sandbox) => Sandbox.betaPause(sandbox.sandboxId, bed.connection)),
  'sandbox.pause': (bed) => pausedAndResumed(bed, (sandbox) => sandbox.pause()),
  'sandbox.betaPause': (bed) => pausedAndResumed(bed, (sandbox) => sandbox.betaPause()),
  'Sandbox.fork': async (bed) => {
    const source = await written(bed, 'before the fork');
    const forks = await Sandbox.fork(source.sandboxId, { ...bed.connection, count: 2 });
    await rightForks(source, forks);
  },
  'sandbox.fork': async (bed) => {
    const source = await written(bed, 'before the fork');
    await rightForks(source, await source.fork({ count: 2 }));
  },
  'Sandbox.createSnapshot': async (bed) => {
    const source = await written(bed, 'in the snapshot');
    await rightSnapshot(bed, await Sandbox.createSnapshot(source.sandboxId, bed.connection));
    await source.kill();
  },
  'sandbox.createSnapshot': async (bed) => {
    const source = await written(bed, 'in the snapshot');
    const name = fresh('snap');
    const snapshot = await source.createSnapshot({ name });
    assert.ok(
      snapshot.names.some((given) => given.includes(name)),
      snapshot.names.join(),
    );
    await rightSnapshot(bed, snapshot);
    await source.kill();
  },
  'Sandbox.listSnapshots': async ({ connection, sandbox }) => {
    const name = fresh('listed');
    const { snapshotId } = await sandbox.createSnapshot({ name });
    const ids = (await Sandbox.listSnapshots({ ...connection, name }).nextItems()).map((item) => item.snapshotId);
    assert.deepEqual(ids, [snapshotId]);
    assert.deepEqual(await Sandbox.listSnapshots({ ...connection, name: `${name}-x` }).nextItems(), []);
    await Sandbox.deleteSnapshot(snapshotId, connection);
  },
  'sandbox.listSnapshots': async ({ node, connection }) => {
    const sandbox = await node.create();
    const { snapshotId } = await sandbox.createSnapshot();
    assert.deepEqual(
      (await sandbox.listSnapshots().nextItems()).map((item) => item.snapshotId),
      [snapshotId],
    );
    await Sandbox.deleteSnapshot(snapshotId, connection);
    await sandbox.kill();
  },
  'snapshotPaginator.nextItems': async ({ node, connection }) => {
    const sandbox = await node.create();
    const made = new Set<string>();
    for (let n = 0; n < 3; n += 1) made.add((await sandbox.createSnapshot()).snapshotId);
    const pages = sandbox.listSnapshots({ limit: 2 });
    const sizes = [];
    const seen = new Set<string>();
    while (pages.hasNext) {
      const items = await pages.nextItems();
      sizes.push(items.length);
      for (const { snapshotId } of items) seen.add(snapshotId);
    }
    assert.deepEqual([sizes, seen], [[2, 1], made]);
    await Promise.all([...made].map((id) => Sandbox.deleteSnapshot(id, connection)));
    await sandbox.kill();
  },
  'Sandbox.deleteSnapshot': async ({ connection, sandbox }) => {
    const { snapshotId } = await sandbox.createSnapshot();
    assert.equal(await Sandbox.deleteSnapshot(snapshotId, connection), true);
    assert.equal(await Sandbox.deleteSnapshot(snapshotId, connection), false);
  },
  'sandbox.getHost': async ({ sandbox }) =>
    assert.ok(sandbox.getHost(8000).startsWith(`8000-${sandbox.sandboxId}.`), sandbox.getHost(8000)),
  'sandbox.downloadUrl': async ({ sandbox }) => {
    await sandbox.files.write('signed.txt', 'by URL');
    const response = await fetch(await sandbox.downloadUrl('signed.txt'));
    assert.deepEqual([response.status, await response.text()], [200, 'by URL']);
  },
  'sandbox.uploadUrl': async ({ sandbox }) => {
    const body = new FormData();
    body.append('file', new Blob(['sent by URL']));
    const response = await fetch(await sandbox.uploadUrl('sent.txt'), { method: 'POST', body });
    assert.deepEqual(await response.json(), [{ name: 'sent.txt', path: '/home/user/sent.txt', type: 'file' }]);
    assert.equal(await sandbox.files.read('sent.txt'), 'sent by URL');
  },
  'sandbox.getMcpUrl': async ({ sandbox }) =>
    assert.equal(new URL(sandbox.getMcpUrl()).host, sandbox.getHost(50_005).toLowerCase()),
  'sandbox.getMcpToken': async ({ sandbox }) => {
    await sandbox.files.write('/etc/mcp-gateway/.token', 'secret of the gateway', { user: 'root' });
    assert.equal(await sandbox.getMcpToken(), 'secret of the gateway');
  },
};

type Info = Awaited<ReturnType<Sandbox['getInfo']>>;

function rightInfo(info: Info): void {
  assert.equal(info.state, 'running');
  assert.ok(info.cpuCount >= 1 && info.memoryMB >= 128, JSON.stringify(info));
  assert.ok(info.startedAt.getTime() <= Date.now() + 1000 && info.endAt > info.startedAt);
  assert.match(info.envdVersion, /^\d+\.\d+\.\d+$/);
  assert.ok(info.templateId.length > 0);
}

async function endIn(sandbox: Sandbox): Promise<number> {
  return (await sandbox.getInfo()).endAt.getTime() - Date.now();
}

type Metrics = Awaited<ReturnType<Sandbox['getMetrics']>>;

/** Samples are taken every few seconds. */
async function rightMetrics(read: () => Promise<Metrics>): Promise<void> {
  for (let tries = 0; ; tries += 1) {
    const [first] = await read();
    if (first === undefined && tries < 60) {
      await delay(500);
      continue;
    }
    assert.ok(first !== undefined, 'there are metrics');
    assert.ok(first.memTotal >= first.memUsed && first.memUsed > 0, JSON.stringify(first));
    assert.ok(first.diskTotal >= first.diskUsed && first.cpuCount >= 1 && first.cpuUsedPct >= 0);
    return assert.ok(Math.abs(first.timestamp.getTime() - Date.now()) < HOUR_MS);
  }
}

/** Processes and files are those from before. */
async function pausedAndResumed(bed: Bed, pause: (sandbox: Sandbox) => Promise<boolean>): Promise<void> {
  const sandbox = await written(bed, 'kept');
  const { pid } = await sandbox.commands.run('sleep 1000', { background: true, timeoutMs: 0 });
  assert.equal(await pause(sandbox), true);
  assert.equal(await pause(sandbox), false, 'it is paused already');
  assert.equal((await sandbox.getInfo()).state, 'paused');
  assert.equal(await sandbox.isRunning(), false);
  await sandbox.connect();
  assert.equal(await sandbox.isRunning(), true);
  assert.ok((await sandbox.commands.list()).some((process) => process.pid === pid));
  assert.equal(await sandbox.files.read('state.txt'), 'kept');
  await sandbox.kill();
}

async function written({ node }: Bed, content: string): Promise<Sandbox> {
  const sandbox = await node.create();
  await sandbox.files.write('state.txt', content);
  return sandbox;
}

async function rightForks(source: Sandbox, forks: (Sandbox | Error)[]): Promise<void> {
  const made = forks.filter((fork) => fork instanceof Sandbox);
  assert.equal(made.length, 2, forks.map(String).join());
  for (const [index, fork] of made.entries()) {
    assert.equal(await fork.files.read('state.txt'), 'before the fork');
    await fork.files.write('state.txt', `of fork ${index}`);
  }
  assert.equal(await made[0]!.files.read('state.txt'), 'of fork 0');
  assert.equal(await source.files.read('state.txt'), 'before the fork');
  await Promise.all([source, ...made].map((sandbox) => sandbox.kill()));
}

async function rightSnapshot({ connection }: Bed, snapshot: { snapshotId: string }): Promise<void> {
  const copy = await Sandbox.create(snapshot.snapshotId, connection);
  assert.equal(await copy.files.read('state.txt'), 'in the snapshot');
  await copy.kill();
  await Sandbox.deleteSnapshot(snapshot.snapshotId, connection);
}
