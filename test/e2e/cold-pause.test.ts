import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, test } from 'node:test';
import { collect, type Sandbox, type VivError } from '@vivarium/sdk';
import { IMAGE, runViv, startTestNode, type TestNode } from '../harness/node.ts';

/** Pausing without memory: processes end, files stay, and the same sandbox boots anew over them. */
let node: TestNode;
before(async () => {
  node = await startTestNode();
});
after(() => node.purge());

const create = (more = {}) => node.viv.sandboxes.create({ image: IMAGE, ttlS: 900, ...more });
const sh = async (sandbox: Sandbox, command: string) => (await sandbox.exec(command, { throwOnError: true })).stdout;
const code = (promise: Promise<unknown>) =>
  promise.then(
    () => 'none',
    (error: VivError) => error.code,
  );
const rest = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

test('files, deletions, owners, variables, user and token stay over three pauses; processes end', async () => {
  await using sandbox = await create({ env: { COLOR: 'blue' }, user: 'nobody', cwd: '/tmp', metadata: { run: '7' } });
  const asRoot = (command: string) => sandbox.exec(command, { user: 'root', throwOnError: true });
  await asRoot(
    'echo 0 > /root/n; head -c 100000 /dev/urandom > /root/some; rm -r /usr/share/doc; chown 1234:5678 /root/n; mkdir /srv/dir; ln -s dir /srv/link',
  );
  const { token } = sandbox.info;
  for (let round = 1; round <= 3; round++) {
    const before = await sandbox.start('trap "" TERM; echo begun; sleep 1000');
    await sandbox.exec('until pgrep -x sleep; do :; done');
    await sandbox.pause({ memory: false });
    assert.deepEqual([sandbox.state, sandbox.info.cold, sandbox.info.expiresAt], ['paused', true, null]);
    const ended = await (await sandbox.attach(before.id)).result();
    assert.deepEqual([ended.outcome.type, ended.stdout], ['canceled', 'begun\n']);
    const { pids, memoryBytes, diskBytes } = await sandbox.stats();
    assert.deepEqual([pids, memoryBytes, diskBytes >= 100_000], [0, 0, true]);
    assert.equal(await code(sandbox.exec('true')), 'sandbox_paused');
    await sandbox.resume();
    assert.deepEqual(
      [sandbox.state, sandbox.info.cold, sandbox.info.token, sandbox.info.metadata],
      ['running', false, token, { run: '7' }],
    );
    assert.ok(Date.parse(sandbox.info.expiresAt!) > Date.now() + 850_000);
    assert.equal(await sh(sandbox, 'echo $COLOR $(id -un) $PWD; pgrep -x sleep; true'), 'blue nobody /tmp\n');
    const found = await asRoot(
      `stat -c %u:%g /root/n; test -e /usr/share/doc || echo away; readlink /srv/link; cat /root/n; echo ${round} > /root/n`,
    );
    assert.equal(found.stdout, `1234:5678\naway\ndir\n${round - 1}\n`);
  }
});

test('endpoints, mounted images and limits are there again', async () => {
  const server = createServer((_, res) => res.end('answered'));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await using sandbox = await create({
    reach: [{ port: 8000, url: `http://127.0.0.1:${port}` }],
    limits: { pids: 77, memoryMiB: 200, diskMiB: 64 },
  });
  try {
    await sh(sandbox, 'mkdir /opt/image /opt/moved /opt/gone');
    for (const at of ['/opt/image', '/opt/gone']) await sandbox.mount(IMAGE, at, { from: '/etc' });
    const call = `python3 -c "import urllib.request as u; print(u.urlopen('http://127.0.0.1:8000').read().decode())"`;
    for (let round = 0; round < 2; round++) {
      assert.equal(await sh(sandbox, call), 'answered\n');
      assert.equal(await sh(sandbox, 'ls /opt/image/debian_version'), '/opt/image/debian_version\n');
      await sandbox.pause({ memory: false });
      await sandbox.resume();
      const { pidsLimit, memoryLimitBytes } = await sandbox.stats();
      assert.deepEqual([pidsLimit, memoryLimitBytes], [77, 200 * 1_048_576]);
      assert.notEqual((await sandbox.exec('head -c 100M /dev/zero > /root/big')).exitCode, 0);
      await sh(sandbox, 'rm -f /root/big');
    }
    await sandbox.unmount('/opt/gone');
    assert.equal(await sh(sandbox, 'ls /opt/gone'), '');
  } finally {
    server.close();
  }
});

test('forks, snapshots, packs and changes of one without memory are of its files', async () => {
  await using sandbox = await create();
  await sh(sandbox, 'echo mine > /root/file');
  await sandbox.pause({ memory: false });
  const changed = (await collect(sandbox.changes())).map(({ path }) => path);
  assert.ok(changed.includes('/root/file'), changed.join());
  const [one, two] = await sandbox.fork(2, { ttlS: 77, metadata: { copy: 'yes' } });
  await sh(one!, 'echo other > /root/file');
  assert.equal(await sh(two!, 'cat /root/file'), 'mine\n');
  assert.deepEqual([one!.info.metadata, two!.info.cold], [{ copy: 'yes' }, false]);
  const image = await sandbox.snapshot('cold/snapshot@1');
  await sandbox.pack({ image: 'cold/pack@1' });
  for (const from of [image.name, 'cold/pack@1']) {
    await using copy = await create({ image: from });
    assert.equal(await sh(copy, 'cat /root/file'), 'mine\n');
  }
  await sandbox.resume();
  assert.equal(await sh(sandbox, 'cat /root/file'), 'mine\n');
  for (const each of [one!, two!]) await each.kill();
});

test('calls into a paused sandbox that asked for it resume it, once, and nothing else does', async () => {
  await using sandbox = await create({ autoResume: true });
  await sh(sandbox, 'echo x > /root/x');
  for (const memory of [true, false]) {
    const steps = async () =>
      (await collect(sandbox.logs())).filter(({ data }) => (data as { state?: string }).state === 'resuming').length;
    const before = await steps();
    await sandbox.pause({ memory });
    await sandbox.refresh();
    await sandbox.stats();
    assert.equal((await sandbox.refresh()).state, 'paused');
    const calls = [
      ...Array.from({ length: 20 }, () => sh(sandbox, 'cat /root/x')),
      ...Array.from({ length: 20 }, async () => String(await sandbox.files.readText('/root/x'))),
    ];
    assert.ok((await Promise.all(calls)).every((text) => text === 'x\n'));
    assert.equal(await steps(), before + 1);
  }
  await sandbox.pause({ memory: false });
  const answer = await fetch(`${node.url}/v1/sandboxes/${sandbox.id}/ports/1/`, {
    headers: { authorization: `Bearer ${node.key}` },
  });
  assert.equal(((await answer.json()) as { error: { code: string } }).error.code, 'port_closed');
  assert.equal((await sandbox.refresh()).state, 'running');
});

test('kill -9 of the server at any moment: it is paused with all its files, or runs, and is never lost', async () => {
  const boxes = await Promise.all(Array.from({ length: 6 }, () => create()));
  for (const box of boxes) await sh(box, 'echo 0 > /root/n; mkdir /root/dir');
  for (let round = 0; round < 6; round++) {
    // Half of them are put to sleep, half are woken, when the server dies.
    const calls = boxes.map((box, i) =>
      ((i + round) % 2 ? box.pause({ memory: false }) : box.resume()).catch(() => undefined),
    );
    await rest(round * 9);
    await node.kill9();
    await node.start();
    await Promise.all(calls);
    for (const box of boxes) {
      const { state, cold } = (await box.refresh()).info;
      assert.ok(state === 'running' || (state === 'paused' && cold), `${state} ${cold}`);
      if (state === 'paused') await box.resume();
      assert.equal(await sh(box, `cat /root/n; echo ${round + 1} > /root/n; ls -d /root/dir`), `${round}\n/root/dir\n`);
    }
    for (const box of boxes) if (boxes.indexOf(box) % 3 === 0) await box.pause({ memory: false });
  }
  for (const box of boxes) await box.kill();
});

test('a time-out pauses without memory where that was asked for, and its clock starts anew', async () => {
  await using sandbox = await create({ ttlS: 1, onTimeout: 'pause', pauseMemory: false });
  await sandbox.wait('paused');
  assert.deepEqual([sandbox.info.cold, sandbox.info.expiresAt], [true, null]);
  await sandbox.update({ pauseMemory: true });
  await sandbox.resume();
  await sandbox.wait('paused');
  assert.equal(sandbox.info.cold, false);
});

test('ending the node removes the files of what is paused without memory', async () => {
  const sandbox = await create();
  await sandbox.pause({ memory: false });
  await node.kill9();
  await node.start();
  assert.equal((await sandbox.refresh()).info.cold, true);
  await sandbox.kill();
  assert.equal((await sandbox.refresh()).state, 'ended');
});

test('the command line: pause without memory, lists by metadata and age, forks with a time of their own, history of use', async () => {
  const viv = (...args: string[]) => {
    const { code: exit, stdout, stderr } = runViv(node, args);
    assert.equal(exit, 0, stderr);
    return stdout.trim();
  };
  const ids = ['a b=c', 'a b=c', 'other'].map((user) =>
    viv('create', IMAGE, '--metadata', `user=${user}`, '--metadata', 'x y=1', '--auto-resume', '--no-pause-memory'),
  );
  const [first, second] = ids as [string, string, string];
  const ls = (...args: string[]) => viv('ls', '-q', ...args).split('\n');
  assert.deepEqual(ls('--metadata', 'user=a b=c', '--oldest-first'), [first, second]);
  assert.deepEqual(ls('--metadata', 'user=a b=c', '--metadata', 'x y=1', '--image', IMAGE), [second, first]);
  assert.deepEqual(ls('--image', 'no/such@1'), ['']);
  assert.match(viv('stats', first, '--history'), /^AT .*MEMORY[^\n]*\n20/);
  assert.equal(JSON.parse(viv('stats', first, '--history', '--json'))[0].pidsLimit, 512);
  viv('pause', '--no-memory', first);
  assert.match(viv('ls', '--metadata', 'user=a b=c'), /paused \(cold\)/);
  const { cold, autoResume, pauseMemory } = JSON.parse(viv('inspect', first));
  assert.deepEqual([cold, autoResume, pauseMemory], [true, true, false]);
  const [fork] = JSON.parse(viv('fork', first, '--ttl', '50s', '--metadata', 'copy=1', '--json'));
  assert.deepEqual(fork.metadata, { copy: '1' });
  assert.ok(Date.parse(fork.expiresAt) - Date.parse(fork.startedAt) <= 50_000);
  assert.equal(viv('exec', first, '--', 'echo', 'awake'), 'awake');
  assert.equal(JSON.parse(viv('inspect', first)).state, 'running');
  viv('kill', ...ids, fork.id);
});
