import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import {
  closeSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readSync,
  rmSync,
  truncateSync,
  writeSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { call } from '../harness/http.ts';
import { IMAGE, startTestNode, type TestNode } from '../harness/node.ts';

describe('images that are broken', () => {
  let node: TestNode;
  before(async () => {
    node = await startTestNode({ ownFiles: true });
  });
  after(() => node.purge());

  test('a corrupted layer file is refused and named, nothing starts from it', async () => {
    const layers = join(node.paths.stateDir, 'layers');
    const name = readdirSync(layers).find((file) => file.endsWith('.erofs'))!;
    flipByte(join(layers, name), 5_000_000);
    const answer = await call(node, 'POST', '/v1/sandboxes', { image: IMAGE });
    assert.equal(answer.error.code, 'image_corrupt', answer.text);
    assert.ok(answer.text.includes(name.replace('.erofs', '').slice(0, 64)), 'the layer is named');
    assert.equal(answer.error.fault, 'infra');
    flipByte(join(layers, name), 5_000_000);
    const again = await call(node, 'POST', '/v1/sandboxes', { image: IMAGE });
    assert.equal(again.body.state, 'running', again.text);
  });

  test('a truncated import keeps nothing', async () => {
    const tar = tarOf({ 'etc/hostname': 'x\n'.repeat(10_000), 'bin/tool': 'y'.repeat(100_000) });
    const answer = await importTar(node, 'cut/short@1', tar.subarray(0, tar.length - 60_000));
    assert.equal(answer.code, 'invalid_image');
    assert.equal((await call(node, 'GET', '/v1/images/cut%2Fshort%401')).error.code, 'image_not_found');
    const whole = await importTar(node, 'cut/short@1', tar);
    assert.equal(whole.code, undefined, JSON.stringify(whole));
  });

  test('a version that exists is never replaced', async () => {
    const tar = tarOf({ 'etc/hostname': 'x\n' });
    assert.equal((await importTar(node, 'twice/made@1', tar)).code, undefined);
    assert.equal((await importTar(node, 'twice/made@1', tar)).code, 'image_exists');
  });

  test('an image that sandboxes use is not removed', async () => {
    await importTar(node, 'in/use@1', tarOf({ 'etc/hostname': 'x\n' }));
    const sandbox = await node.viv.sandboxes.create({ image: 'in/use@1' });
    assert.equal((await call(node, 'DELETE', '/v1/images/in%2Fuse%401')).error.code, 'image_in_use');
    await sandbox.kill();
    assert.equal((await call(node, 'DELETE', '/v1/images/in%2Fuse%401')).status, 204);
  });
});

test('on a full disk creates are refused with a clear error, and work goes on when there is room again', async () => {
  const disk = smallDisk(2600);
  const node = await startTestNode({ image: false, stateDir: join(disk.mount, 'state') });
  try {
    assert.equal((await importTar(node, 'tiny/empty@1', tarOf({ 'etc/hostname': 'x\n' }))).code, undefined);
    const filler = join(disk.mount, 'filler');
    execFileSync('fallocate', ['-l', '1900M', filler]);
    await untilLooked();
    const refused = await call(node, 'POST', '/v1/sandboxes', { image: 'tiny/empty@1' });
    assert.equal(refused.error.code, 'node_disk_full', refused.text);
    assert.equal(refused.status, 503);
    assert.equal(refused.error.fault, 'infra');
    rmSync(filler);
    await untilLooked();
    const created = await call(node, 'POST', '/v1/sandboxes', { image: 'tiny/empty@1' });
    assert.equal(created.body.state, 'running', created.text);
  } finally {
    await node.purge();
    disk.remove();
  }
});

/** The edge looks at its disk twice a second. */
const untilLooked = () => new Promise((resolve) => setTimeout(resolve, 700));

function flipByte(path: string, offset: number): void {
  const fd = openSync(path, 'r+');
  const byte = Buffer.alloc(1);
  readSync(fd, byte, 0, 1, offset);
  byte[0]! ^= 0xff;
  writeSync(fd, byte, 0, 1, offset);
  closeSync(fd);
}

/** The last line of an import's progress: its error, or what it made. */
async function importTar(node: TestNode, name: string, tar: Buffer): Promise<{ type?: string; code?: string }> {
  const response = await fetch(`${node.url}/v1/images/import-tar?name=${encodeURIComponent(name)}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${node.key}`, 'content-type': 'application/x-tar' },
    body: new Uint8Array(tar),
  });
  const last = JSON.parse((await response.text()).trim().split('\n').at(-1)!) as { type?: string; error?: unknown };
  const error = last.error as { code?: string; error?: { code?: string } } | undefined;
  return { type: last.type, code: error?.code ?? error?.error?.code };
}

function tarOf(files: Record<string, string>): Buffer {
  const directory = mkdtempSync(join(tmpdir(), 'viv-tree-'));
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(join(directory, path, '..'), { recursive: true });
    execFileSync('sh', ['-c', 'cat > "$0"', join(directory, path)], { input: content });
  }
  const tar = execFileSync('tar', ['-C', directory, '-cf', '-', '.'], { maxBuffer: 64 << 20 });
  rmSync(directory, { recursive: true });
  return tar;
}

/** A file system of its own for a state directory. */
function smallDisk(mib: number): { mount: string; remove(): void } {
  const base = mkdtempSync(join(tmpdir(), 'viv-disk-'));
  const file = join(base, 'disk.img');
  const mount = join(base, 'mnt');
  mkdirSync(mount);
  closeSync(openSync(file, 'w'));
  truncateSync(file, mib * 2 ** 20);
  execFileSync('mkfs.ext4', ['-q', '-F', file]);
  execFileSync('mount', ['-o', 'loop', file, mount]);
  return {
    mount,
    remove: () => {
      execFileSync('umount', [mount]);
      rmSync(base, { recursive: true });
    },
  };
}
