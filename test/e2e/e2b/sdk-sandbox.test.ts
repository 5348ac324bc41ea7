import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { NotFoundError, Sandbox, SandboxError } from 'e2b';
import { type E2bNode, startE2bNode } from '../../harness/e2b.ts';

let node: E2bNode;
before(async () => {
  node = await startE2bNode();
});
after(() => node.close());

test('a list of 120 sandboxes comes in pages, newest first, each once, and only those with the metadata asked for', async () => {
  const many = Array.from({ length: 120 }, (_, n) => ({
    run: 'pages',
    batch: String(Math.floor(n / 20)),
    odd: n % 2 === 1 ? 'yes' : 'no',
    text: `ü & = % ${n}`,
  }));
  const made: Sandbox[] = [];
  for (let from = 0; from < many.length; from += 20) {
    made.push(...(await Promise.all(many.slice(from, from + 20).map((metadata) => node.create({ metadata })))));
  }
  const ids = made.map(({ sandboxId }) => sandboxId).sort();
  const all = await pages({ query: { metadata: { run: 'pages' } }, limit: 50 });
  assert.deepEqual(all.sizes, [50, 50, 20]);
  assert.deepEqual(all.items.map(({ sandboxId }) => sandboxId).sort(), ids);
  const batches = all.items.map(({ metadata }) => Number(metadata.batch));
  assert.deepEqual(
    batches,
    batches.toSorted((a, b) => b - a),
  );
  const odd = await pages({ query: { metadata: { run: 'pages', odd: 'yes' } } });
  assert.equal(odd.items.length, 60);
  assert.ok(odd.items.every(({ metadata }) => metadata.odd === 'yes'));
  const one = await pages({ query: { metadata: { text: 'ü & = % 77' } } });
  assert.deepEqual(
    one.items.map(({ sandboxId }) => sandboxId),
    [made[77]!.sandboxId],
  );
  const oldest = await pages({ query: { metadata: { run: 'pages' } }, order: 'asc', limit: 100 });
  assert.deepEqual(
    oldest.items.map(({ sandboxId }) => sandboxId),
    all.items.map(({ sandboxId }) => sandboxId).reverse(),
  );
  assert.equal((await pages({ query: { metadata: { run: 'other' } } })).items.length, 0);
  assert.ok((await Promise.all(made.map((sandbox) => sandbox.kill()))).every(Boolean));
  assert.equal((await pages({ query: { metadata: { run: 'pages' } } })).items.length, 0);
});

test('a sandbox is paused and resumed three times with its processes, their memory and its files', async () => {
  const sandbox = await node.create();
  const counter = await sandbox.commands.run('n=0; while read line; do n=$((n+1)); echo "$n $line"; done', {
    background: true,
    stdin: true,
    timeoutMs: 0,
  });
  await sandbox.files.write('kept.txt', 'before');
  for (const round of ['1', '2', '3']) {
    assert.equal(await sandbox.pause(), true);
    assert.equal((await sandbox.getInfo()).state, 'paused');
    assert.equal(await sandbox.isRunning(), false);
    await sandbox.connect();
    const again = await sandbox.commands.connect(counter.pid);
    await sandbox.commands.sendStdin(counter.pid, `round ${round}\n`);
    await until(async () => again.stdout.includes(`${round} round ${round}\n`));
    await again.disconnect();
    assert.equal(await sandbox.files.read('kept.txt'), 'before');
  }
  await sandbox.kill();
});

test('a pause without memory ends the processes, keeps the files, and the sandbox boots anew', async () => {
  const sandbox = await node.create({ envs: { OF_THE_SANDBOX: 'still' } });
  const bootId = async () => (await sandbox.commands.run('cat /proc/sys/kernel/random/boot_id')).stdout;
  const { pid } = await sandbox.commands.run('sleep 1000', { background: true, timeoutMs: 0 });
  await sandbox.files.write('kept.txt', 'on the disk');
  const before = await bootId();
  await sandbox.pause({ keepMemory: false });
  assert.equal(await sandbox.isRunning(), false);
  await sandbox.connect();
  assert.equal(await sandbox.files.read('kept.txt'), 'on the disk');
  assert.ok(
    (await sandbox.commands.list()).every((process) => process.pid !== pid || !process.args.includes('sleep 1000')),
  );
  assert.equal((await sandbox.commands.run('echo $OF_THE_SANDBOX')).stdout, 'still\n');
  assert.notEqual(await bootId(), before);
  await sandbox.kill();
});

test('a time-out pauses or kills as asked; traffic wakes only a sandbox that resumes by itself', async () => {
  const paused = await node.create({ timeoutMs: 1000, lifecycle: { onTimeout: 'pause', autoResume: false } });
  const waking = await node.create({ timeoutMs: 1000, lifecycle: { onTimeout: 'pause', autoResume: true } });
  const killed = await node.create({ timeoutMs: 1000 });
  await waking.files.write('here', 'woken');
  await until(async () => (await paused.getInfo()).state === 'paused');
  await until(async () => (await waking.getInfo()).state === 'paused');
  assert.equal(await paused.isRunning(), false);
  await assert.rejects(paused.commands.run('true'), SandboxError);
  assert.equal(await waking.files.read('here'), 'woken');
  assert.equal((await waking.getInfo()).state, 'running');
  await until(async () => !(await killed.isRunning()));
  await assert.rejects(killed.getInfo(), NotFoundError);
  await paused.connect();
  assert.equal((await paused.commands.run('echo back')).stdout, 'back\n');
  await Promise.all([paused, waking].map((sandbox) => sandbox.kill()));
});

test('three sandboxes of one snapshot begin with its files and go their own ways; the source lives on', async () => {
  const source = await node.create();
  await source.files.write('app/config', 'of the source');
  await source.commands.run('sudo sh -c "echo by root > /etc/by-root; rm /etc/motd"');
  const { snapshotId } = await source.createSnapshot();
  await source.files.write('app/config', 'changed after');
  const copies = await Promise.all([1, 2, 3].map(() => node.create({ template: snapshotId })));
  for (const [index, copy] of copies.entries()) {
    assert.equal(await copy.files.read('app/config'), 'of the source');
    assert.equal(
      (await copy.commands.run('cat /etc/by-root; ls /etc/motd 2>&1 | tail -c 26')).stdout,
      'by root\nNo such file or directory\n',
    );
    await copy.files.write('app/config', `copy ${index}`);
  }
  assert.deepEqual(await Promise.all(copies.map((copy) => copy.files.read('app/config'))), [
    'copy 0',
    'copy 1',
    'copy 2',
  ]);
  assert.equal(await source.files.read('app/config'), 'changed after');
  await Promise.all([source, ...copies].map((sandbox) => sandbox.kill()));
  assert.equal(await Sandbox.deleteSnapshot(snapshotId), true);
  await assert.rejects(node.create({ template: snapshotId }), /404: .* not found/);
});

test('ten forks have the files of that moment and none of each other', async () => {
  const source = await node.create({ metadata: { of: 'source' } });
  await source.files.write('state', 'shared past');
  const forks = await source.fork({ count: 10, timeoutMs: 600_000 });
  const made = forks.filter((fork) => fork instanceof Sandbox);
  assert.equal(made.length, 10, forks.map(String).join('\n'));
  assert.equal(new Set([source.sandboxId, ...made.map(({ sandboxId }) => sandboxId)]).size, 11);
  await Promise.all(made.map((fork, index) => fork.files.write('state', `future ${index}`)));
  const states = await Promise.all(made.map((fork) => fork.files.read('state')));
  assert.deepEqual(
    states,
    made.map((_, index) => `future ${index}`),
  );
  assert.equal(await source.files.read('state'), 'shared past');
  await assert.rejects(source.fork({ count: 101 }), SandboxError);
  await Promise.all([source, ...made].map((sandbox) => sandbox.kill()));
  await assert.rejects(source.fork(), NotFoundError);
});

test('a kill ends streams at once, with words that say so', async () => {
  const sandbox = await node.create();
  const handle = await sandbox.commands.run('sleep 1000', { background: true, timeoutMs: 0 });
  let exit: Error | undefined;
  await sandbox.files.watchDir('/tmp', () => {}, {
    timeoutMs: 0,
    onExit: (error) => {
      exit = error;
    },
  });
  assert.equal(await sandbox.kill(), true);
  await assert.rejects(handle.wait(), /sandbox was killed or reached its end of life/);
  await until(async () => exit !== undefined);
  assert.equal(await sandbox.isRunning(), false);
  await assert.rejects(sandbox.commands.run('true'), SandboxError);
  await assert.rejects(sandbox.files.read('/etc/passwd'), SandboxError);
});

test('what a sandbox was made with is in its information', async () => {
  const network = {
    allowOut: ['example.com', '10.1.0.0/16'],
    denyOut: ['0.0.0.0/0'],
    maskRequestHost: 'inner.example',
  };
  const lifecycle = { onTimeout: 'pause', autoResume: true } as const;
  const sandbox = await node.create({ allowInternetAccess: false, network, lifecycle, timeoutMs: 90_000 });
  const info = await sandbox.getInfo();
  assert.equal(info.allowInternetAccess, false);
  assert.deepEqual(info.lifecycle, lifecycle);
  assert.deepEqual([info.network?.allowOut, info.network?.denyOut], [network.allowOut, network.denyOut]);
  assert.equal(info.network?.maskRequestHost, network.maskRequestHost);
  assert.equal(info.endAt.getTime() - info.startedAt.getTime(), 90_000);
  assert.equal(
    (await sandbox.commands.run('cat /run/e2b/.E2B_SANDBOX_ID; echo; echo $E2B_SANDBOX_ID')).stdout.trim(),
    `${sandbox.sandboxId}\n${sandbox.sandboxId}`,
  );
  await sandbox.kill();
});

test('the template base has what programs for E2B look for', async () => {
  const sandbox = await node.create();
  const programs = 'bash curl git python3 python pip node sudo openssl ss pgrep setfattr tput stty realpath';
  const { stdout } = await sandbox.commands.run(
    `for name in ${programs}; do command -v $name >/dev/null || echo $name; done`,
  );
  assert.equal(stdout, '');
  assert.equal(
    (await sandbox.commands.run('sudo whoami; whoami; pwd; echo $HOME')).stdout,
    'root\nuser\n/home/user\n/home/user\n',
  );
  assert.equal((await sandbox.commands.run('whoami; echo ~', { user: 'root' })).stdout, 'root\n/root\n');
  await sandbox.kill();
});

type ListOptions = NonNullable<Parameters<typeof Sandbox.list>[0]>;

async function pages(options: ListOptions) {
  const paginator = Sandbox.list(options);
  const items = [];
  const sizes = [];
  while (paginator.hasNext) {
    const page = await paginator.nextItems();
    items.push(...page);
    sizes.push(page.length);
  }
  return { items, sizes };
}

async function until(holds: () => Promise<boolean>): Promise<void> {
  for (let tries = 0; !(await holds()); tries += 1) {
    assert.ok(tries < 150, 'it did not come');
    await delay(100);
  }
}
