import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { down, nodePaths } from '@vivarium/node';
import { collect, type Sandbox, Vivarium, VivError } from '@vivarium/sdk';
import { IMAGE, runViv, startTestNode, type TestNode } from '../harness/node.ts';

const MIB = 1_048_576;
const quiet = () => {};
let node: TestNode;
let viv: Vivarium;
before(async () => {
  node = await startTestNode();
  viv = node.viv;
});
after(() => node.purge());

const create = (volume: string, options: { path?: string; readOnly?: boolean; user?: string } = {}) => {
  const { path = '/mnt/data', readOnly = false, ...rest } = options;
  return viv.sandboxes.create({ image: IMAGE, volumes: [{ name: volume, path, readOnly }], ...rest });
};
const run = async (sandbox: Sandbox, script: string, options: { user?: string } = {}) => {
  const { stdout, stderr, outcome } = await sandbox.exec(script, options);
  return { out: stdout.trim(), err: stderr.trim(), code: outcome?.type === 'exited' ? outcome.code : outcome?.type };
};
const code = (wanted: string) => (error: unknown) => {
  assert.ok(error instanceof VivError && error.code === wanted, `${error}`);
  return true;
};

test('sandboxes share a volume read-write: each sees the ids on disk, whatever range it has itself', async () => {
  await viv.volumes.create({ name: 'shared' });
  const [a, b] = await Promise.all([create('shared'), create('shared', { path: '/elsewhere/deep' })]);
  assert.deepEqual(
    a.info.volumes.map(({ name, path, readOnly }) => [name, path, readOnly]),
    [['shared', '/mnt/data', false]],
  );
  await run(a, 'echo root > /mnt/data/root; echo user > /mnt/data/user; chown 1000:1000 /mnt/data/user');
  assert.equal((await run(b, 'stat -c %u:%g /elsewhere/deep/root /elsewhere/deep/user')).out, '0:0\n1000:1000');
  await run(b, 'echo more >> /elsewhere/deep/user', { user: '1000' });
  assert.equal((await run(a, 'cat /mnt/data/user')).out, 'user\nmore');
  assert.equal((await viv.volumes.files('shared').stat('/user')).uid, 1000);
  assert.equal((await run(b, 'touch /elsewhere/deep/root', { user: '1000' })).code, 1, 'permissions count');
  assert.equal((await run(a, 'stat -c %u:%a /mnt /mnt/data')).out, '0:755\n1000:777');
  await Promise.all([a.kill(), b.kill()]);
  assert.equal(await viv.volumes.files('shared').readText('user'), 'user\nmore\n', 'they outlive both');
});

test('a read-only volume can be read only, and no mount of one can be changed from inside', async () => {
  const sandbox = await create('shared', { readOnly: true, path: '/ro' });
  assert.match((await run(sandbox, 'echo x > /ro/x')).err, /Read-only file system/);
  assert.equal((await run(sandbox, 'cat /ro/root')).out, 'root');
  for (const attempt of ['mount -o remount,rw /ro', 'umount /ro', 'mount --bind /tmp /ro', 'unshare -rm true'])
    assert.notEqual((await run(sandbox, attempt)).code, 0, attempt);
  assert.match((await run(sandbox, 'grep " /ro " /proc/self/mountinfo')).out, /ro,nosuid,nodev/);
  await sandbox.kill();
});

test('set-id bits and devices in a volume mean nothing; programs in it run', async () => {
  const sandbox = await create('shared');
  const setup = 'cp /usr/bin/id /mnt/data/id; chmod 6755 /mnt/data/id; cp /bin/true /mnt/data/true';
  await run(sandbox, setup);
  assert.match((await run(sandbox, '/mnt/data/id', { user: '1000' })).out, /^uid=1000.* gid=1000/);
  assert.equal((await run(sandbox, '/mnt/data/id -u', { user: '1000' })).out, '1000');
  assert.equal((await run(sandbox, '/mnt/data/true')).code, 0);
  assert.notEqual((await run(sandbox, 'mknod /mnt/data/null c 1 3')).code, 0);
  await sandbox.kill();
});

test('a full volume is a quota exceeded inside, noted with the command, and disk_full outside', async () => {
  await viv.volumes.create({ name: 'small', sizeMiB: 16 });
  const sandbox = await create('small');
  const { exec, stderr } = await full(sandbox);
  assert.match(stderr, /Disk quota exceeded|No space left on device/);
  assert.deepEqual(exec.annotations, ['disk_limit']);
  const files = viv.volumes.files('small');
  await assert.rejects(files.write('more', randomBytes(4 * MIB)), code('disk_full'));
  assert.equal(await files.exists('more'), false);
  const { usedBytes, sizeMiB } = await viv.volumes.get('small');
  assert.ok(usedBytes > 15 * MIB && usedBytes <= 16 * MIB && sizeMiB === 16, `${usedBytes}`);
  const filled =
    'dd if=/dev/zero of=/mnt/data/tree/sub/fill bs=4k; rm -f /mnt/data/fill; dd if=/dev/zero of=/mnt/data/fill bs=4k; n=0; while echo $n >/mnt/data/tree/n$n; do n=$((n+1)); done';
  await run(
    sandbox,
    `rm /mnt/data/fill; mkdir -p /mnt/data/tree/sub; for i in $(seq 200); do : > /mnt/data/tree/$i; done; ${filled}`,
  );
  await files.remove('tree', { recursive: true });
  assert.equal(await files.exists('tree'), false, 'a full volume can be tidied from outside');
  assert.equal(
    (await run(sandbox, 'echo free > /root/own-disk && rm -f /mnt/data/fill && echo ok > /mnt/data/ok')).code,
    0,
  );
  await sandbox.kill();
});

async function full(sandbox: Sandbox) {
  const result = await sandbox.exec('dd if=/dev/zero of=/mnt/data/fill bs=1M count=32');
  return { exec: result, stderr: result.stderr };
}

test('a volume in use stays, and the error names who has it; its name is free again afterwards', async () => {
  const { id } = await viv.volumes.create({ name: 'busy' });
  await assert.rejects(viv.volumes.create({ name: 'busy' }), code('volume_exists'));
  const sandbox = await create('busy');
  const named = (error: unknown) => code('volume_in_use')(error) && `${error}`.includes(sandbox.id);
  await assert.rejects(viv.volumes.remove('busy'), named);
  await sandbox.pause();
  await assert.rejects(viv.volumes.remove(id), named);
  assert.deepEqual((await viv.volumes.get('busy')).sandboxes, [sandbox.id]);
  await sandbox.kill();
  await viv.volumes.remove('busy');
  await assert.rejects(viv.volumes.get('busy'), code('volume_not_found'));
  await assert.rejects(viv.volumes.get(id), code('volume_not_found'));
  const again = await viv.volumes.create({ name: 'busy' });
  assert.notEqual(again.id, id);
  assert.deepEqual(await collect(viv.volumes.files('busy').list('/')), []);
});

test('a fork shares the volume; packs, snapshots and changes hold nothing of it', async () => {
  const original = await create('shared');
  await run(original, 'echo secret > /mnt/data/in-volume; echo own > /root/own');
  const [fork] = await original.fork(1);
  assert.equal((await run(fork!, 'cat /mnt/data/in-volume; echo by-fork > /mnt/data/by-fork')).out, 'secret');
  assert.equal((await run(original, 'cat /mnt/data/by-fork')).out, 'by-fork');
  const changed = (await collect(original.changes())).map(({ path }) => path);
  assert.ok(changed.includes('/root/own'));
  assert.deepEqual(
    changed.filter((path) => path.startsWith('/mnt/data/')),
    [],
  );
  await original.snapshot('test/with-volume@1');
  const copy = await viv.sandboxes.create({ image: 'test/with-volume@1' });
  assert.equal((await run(copy, 'ls -A /mnt/data; cat /root/own')).out, 'own');
  await Promise.all([original.kill(), fork!.kill(), copy.kill()]);
});

test('a pause without memory gives the volume back at the next start', async () => {
  const sandbox = await create('shared');
  await run(sandbox, 'echo before > /mnt/data/cold');
  await sandbox.pause({ memory: false });
  await assert.rejects(viv.volumes.remove('shared'), code('volume_in_use'));
  await viv.volumes.files('shared').write('cold', 'from outside', { uid: 0, gid: 0 });
  await sandbox.resume();
  assert.equal((await run(sandbox, 'cat /mnt/data/cold; stat -c %u /mnt/data/cold')).out, 'from outside0');
  await sandbox.kill();
});

test('volumes and their mounts live through a kill -9 of the server and a restart', async () => {
  const sandbox = await create('shared');
  await node.kill9();
  await node.start();
  assert.equal((await run(sandbox, 'echo after-kill > /mnt/data/after; cat /mnt/data/root')).out, 'root');
  assert.equal(await viv.volumes.files('shared').readText('after'), 'after-kill\n');
  await assert.rejects(viv.volumes.remove('shared'), code('volume_in_use'));
  await sandbox.kill();
});

test('uploads that a crash cut short leave nothing in the volume, nor in its account', async () => {
  const before = (await viv.volumes.get('small')).usedBytes;
  const { promise: begun, resolve: begin } = Promise.withResolvers<void>();
  const body = (async function* () {
    yield randomBytes(2 * MIB);
    yield randomBytes(2 * MIB);
    begin();
    await new Promise((resolve) => setTimeout(resolve, 60_000).unref());
  })();
  const upload = viv.volumes
    .files('small')
    .write('cut', body)
    .catch((error: unknown) => error);
  await begun;
  await node.kill9();
  await node.start();
  assert.ok((await upload) instanceof VivError);
  assert.equal(await viv.volumes.files('small').exists('cut'), false);
  for (let i = 0; (await viv.volumes.get('small')).usedBytes > before + MIB; i++) {
    assert.ok(i < 200, 'what was uploaded is still counted');
    await new Promise((resolve) => setTimeout(resolve, 250));
  }
});

test('no request mounts a volume where it can do harm, and kinds that can not mount one say why', async () => {
  const refused = async (path: string, wanted = 'invalid_argument') =>
    assert.rejects(create('shared', { path }), code(wanted), path);
  for (const path of ['/', 'relative', '/a/../b', '/proc/sys', '/dev/shm/x', '/sys', '/a//b', '/./a'])
    await refused(path);
  await refused('/etc/passwd');
  await refused('/lib/x');
  const mounts = (paths: string[]) => paths.map((path) => ({ name: 'shared', path }));
  const both = (paths: string[]) => viv.sandboxes.create({ image: IMAGE, volumes: mounts(paths) });
  await assert.rejects(both(['/a', '/a/b']), code('invalid_argument'));
  await assert.rejects(both(['/a', '/a']), code('invalid_argument'));
  await assert.rejects(create('nothing-of-the-kind'), code('volume_not_found'));
  const fn = viv.sandboxes.create({ image: IMAGE, kind: 'fn', volumes: mounts(['/a']) });
  await assert.rejects(fn, (error) => code('unsupported')(error));
  const live = await collect(viv.sandboxes.list({ states: ['running', 'creating'] }));
  assert.deepEqual(
    live.map(({ id }) => id),
    [],
    'nothing is left of what failed',
  );
});

test('a key has volumes of its own: those of others are not there, to look at or to mount', async () => {
  const { secret } = await viv.keys.create({ name: 'tenant', scopes: ['sandboxes', 'images'] });
  const tenant = new Vivarium({ url: node.url, apiKey: secret! });
  const { id } = await viv.volumes.get('shared');
  for (const name of ['shared', id]) {
    await assert.rejects(tenant.volumes.get(name), code('volume_not_found'));
    await assert.rejects(tenant.volumes.remove(name), code('volume_not_found'));
    await assert.rejects(tenant.volumes.files(name).readText('root'), code('volume_not_found'));
    const mount = tenant.sandboxes.create({ image: IMAGE, volumes: [{ name, path: '/x' }] });
    await assert.rejects(mount, code('volume_not_found'));
  }
  // Named like the id of another's volume, it is still one's own.
  await tenant.volumes.create({ name: id });
  const sandbox = await tenant.sandboxes.create({ image: IMAGE, volumes: [{ name: id, path: '/x' }] });
  assert.equal((await run(sandbox, 'ls -A /x')).out, '');
  await sandbox.kill();
  assert.equal((await collect(tenant.volumes.list())).length, 1);
  assert.equal(await viv.volumes.files(id).readText('root'), 'root\n', 'and who means the other gets the other');
  tenant.close();
});

test('trees are copied in and out by the command line', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'viv-volume-'));
  mkdirSync(join(dir, 'tree/sub'), { recursive: true });
  writeFileSync(join(dir, 'tree/a.txt'), 'a');
  writeFileSync(join(dir, 'tree/sub/b.bin'), randomBytes(300_000));
  symlinkSync('a.txt', join(dir, 'tree/link'));
  const ok = (...args: string[]) => {
    const result = runViv(node, ['volume', ...args]);
    assert.equal(result.code, 0, result.stderr);
    return result.stdout;
  };
  ok('create', 'by-cli', '--size', '64m');
  ok('cp', join(dir, 'tree'), 'by-cli:/', '--quiet');
  ok('cp', join(dir, 'tree/a.txt'), 'by-cli:tree/copy.txt', '--quiet', '--uid', '0');
  const sandbox = await create('by-cli');
  assert.equal((await run(sandbox, 'cat /mnt/data/tree/link; stat -c %u /mnt/data/tree/copy.txt')).out, 'a0');
  ok('cp', 'by-cli:/tree', join(dir, 'out'), '--quiet');
  assert.deepEqual(readFileSync(join(dir, 'out/sub/b.bin')), readFileSync(join(dir, 'tree/sub/b.bin')));
  assert.match(ok('ls'), /by-cli +\w{20} .* 64 MiB +1 /);
  assert.equal(JSON.parse(ok('inspect', 'by-cli')).sizeMiB, 64);
  assert.equal(runViv(node, ['volume', 'rm', 'by-cli']).code, 4);
  await sandbox.kill();
  ok('rm', 'by-cli');
  assert.equal(runViv(node, ['volume', 'inspect', 'by-cli']).code, 3);
  const ran = runViv(node, ['run', '--volume', 'shared:/v:ro', IMAGE, 'cat', '/v/root']);
  assert.deepEqual([ran.code, ran.stdout], [0, 'root\n']);
  rmSync(dir, { recursive: true });
});

test('volumes outlive `viv down`, and nothing of them outlives a purge', async () => {
  const stateDir = mkdtempSync(join(tmpdir(), 'viv-node-'));
  const first = await startTestNode({ stateDir });
  await first.viv.volumes.create({ name: 'kept' });
  await first.viv.volumes.files('kept').write('file', 'kept');
  const image = join(nodePaths(stateDir).stateDir, 'volumes.btrfs');
  assert.ok(existsSync(image));
  await down({ stateDir, purge: false }, quiet);
  assert.ok(existsSync(image));
  await first.start();
  assert.equal(await first.viv.volumes.files('kept').readText('file'), 'kept');
  await first.purge();
  assert.ok(!existsSync(image));
});
