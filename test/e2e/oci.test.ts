import assert from 'node:assert/strict';
import { type ChildProcess, execFileSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  copyFileSync,
  createReadStream,
  linkSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { createGzip } from 'node:zlib';
import { setXattr } from '@vivarium/layers/tree/xattr.ts';
import { collect, type Image } from '@vivarium/sdk';
import { runViv, startTestNode, type TestNode } from '../harness/node.ts';
import { buildahIn, freePort, lacksOciTools, startRegistry } from '../harness/registry.ts';

describe('images that buildah made', { skip: lacksOciTools() }, () => {
  let work: string;
  let node: TestNode;
  let registry: ChildProcess;
  let host: string;
  let buildah: (...args: string[]) => string;
  let expected: string[];
  before(async () => {
    work = mkdtempSync(join(tmpdir(), 'viv-oci-'));
    node = await startTestNode({ image: false });
    host = `127.0.0.1:${await freePort()}`;
    registry = await startRegistry(work, host);
    const settings = { plainHttp: [host], mirrors: { 'docker.io': `http://${host}` } };
    writeFileSync(join(node.paths.stateDir, 'registries.json'), JSON.stringify(settings));
    buildah = buildahIn(work);
    expected = makeImages(work, buildah);
    buildah('push', '-q', 'top', `oci:${work}/layout:top`);
    buildah('push', '-q', 'top', `docker-archive:${work}/docker.tar:me/top:v1`);
    for (const name of ['bottom', 'top', 'other'])
      buildah('push', '-q', '--tls-verify=false', name, `docker://${host}/team/deep/${name}:v1`);
    buildah('push', '-q', '--tls-verify=false', 'top', `docker://${host}/library/top:v1`);
  });
  after(async () => {
    registry?.kill('SIGKILL');
    await node?.purge();
    rmSync(work, { recursive: true, force: true });
  });

  const listing = async (image: string): Promise<string[]> => {
    const sandbox = await node.viv.sandboxes.create({ image });
    try {
      const { stdout, exitCode } = await sandbox.exec(['/lister', '/'], { user: '0:0', cwd: '/' });
      assert.equal(exitCode, 0);
      assert.deepEqual(await collect(sandbox.changes()), [], 'making a sandbox changes nothing of its image');
      return sorted(stdout);
    } finally {
      await sandbox.kill();
    }
  };
  const layersOf = ({ layers }: Image) => layers.map(({ digest }) => digest);

  test('show the same files whichever way they come, and each layer is there once', async () => {
    const viv = (...args: string[]) => {
      const { code, stderr } = runViv(node, args);
      assert.equal(code, 0, stderr);
    };
    viv('image', 'import', 'by/layout@1', '--oci', join(work, 'layout'));
    viv('image', 'import', 'by/docker@1', '--oci', join(work, 'docker.tar'), '--ref', 'me/top:v1');
    viv('image', 'import', 'by/registry@1', '--registry', `${host}/team/deep/top:v1`);
    viv('image', 'pull', 'top:v1');
    const zipped = createReadStream(join(work, 'docker.tar')).pipe(createGzip());
    await node.viv.images.importOci('by/gzip@1', zipped);
    const names = ['by/layout@1', 'by/docker@1', 'by/registry@1', 'by/gzip@1', 'oci/docker.io/library/top@v1'];
    for (const name of names) assert.deepEqual(await listing(name), expected, name);
    const images = await Promise.all(names.map((name) => node.viv.images.get(name)));
    for (const image of images) assert.deepEqual(layersOf(image), layersOf(images[0]!));
  });

  test('give their environment, directory, user and start command', async () => {
    const { config } = await node.viv.images.importOci('conf@1', createReadStream(join(work, 'docker.tar')));
    assert.deepEqual(
      { ...config, labels: config.labels.made },
      {
        env: { GREETING: 'hello there' },
        cwd: '/data',
        user: 'app',
        entrypoint: ['/bin/echo', 'I say'],
        cmd: ['hi'],
        exposedPorts: ['8080/tcp'],
        stopSignal: 'SIGINT',
        labels: 'here',
      },
    );
    const given = runViv(node, ['run', 'conf@1', '--', 'sh', '-c', 'echo $GREETING; pwd; id -un']);
    assert.equal(given.stdout, 'hello there\n/data\napp\n', given.stderr);
    assert.equal(runViv(node, ['run', 'conf@1']).stdout, 'I say hi\n');
  });

  test('are brought once by creates that name a reference, however many come at once', async () => {
    const image = `${host}/team/deep/bottom:v1`;
    const sandboxes = await Promise.all(Array.from({ length: 5 }, () => node.viv.sandboxes.create({ image })));
    const name = `oci/${host.replace(':', '_')}/team/deep/bottom@v1`;
    for (const { info } of sandboxes) assert.equal(info.image, name);
    await Promise.all(sandboxes.map((sandbox) => sandbox.kill()));
  });

  test('that share layers with known ones are brought without those', async () => {
    await node.viv.images.pull(`${host}/team/deep/top:v1`);
    removeSharedBlobs(work, host);
    const other = await node.viv.images.pull(`${host}/team/deep/other:v1`);
    const top = await node.viv.images.get(`oci/${host.replace(':', '_')}/team/deep/top@v1`);
    const shared = layersOf(top).filter((digest) => layersOf(other).includes(digest));
    assert.equal(shared.length, 2, 'the mount points, and the lowest of buildah’s');
  });

  test('without a shell run what they have', () => {
    const container = buildah('from', 'scratch');
    buildah('copy', '-q', container, join(work, 'lister'), '/lister');
    buildah('config', '--entrypoint', '["/lister"]', container);
    buildah('commit', '-q', container, 'bare');
    buildah('push', '-q', 'bare', `oci-archive:${work}/bare.tar:bare`);
    assert.equal(runViv(node, ['image', 'import', 'bare@1', '--oci', join(work, 'bare.tar')]).code, 0);
    const { code, stdout } = runViv(node, ['run', 'bare@1', '--', '/lister']);
    assert.deepEqual([code, stdout], [0, '']);
  });

  test('that are not there are named in skopeo’s words, and nothing is kept', async () => {
    const image = `${host}/team/none:v1`;
    await assert.rejects(node.viv.sandboxes.create({ image }), { code: 'import_failed', message: /manifest unknown/ });
    await assert.rejects(node.viv.sandboxes.create({ image: '127.0.0.1:1/team/none:v1' }), { code: 'import_failed' });
    const names = (await collect(node.viv.images.list({ all: true }))).map(({ name }) => name);
    assert.deepEqual(
      names.filter((name) => name.includes('none')),
      [],
    );
  });
});

/** `bottom`, `top` (over it) and `other` (over it too). Returns what is to be seen in `top`. */
function makeImages(work: string, buildah: (...args: string[]) => string): string[] {
  execFileSync('musl-gcc', [
    '-static',
    '-O1',
    '-o',
    join(work, 'lister'),
    join(import.meta.dirname, '../harness/lister.c'),
  ]);
  const bottom = buildah('from', 'scratch');
  const below = buildah('mount', bottom);
  for (const name of ['bin', 'etc', 'data/old', 'data/kept', 'tmp']) mkdirSync(join(below, name), { recursive: true });
  copyFileSync('/bin/busybox', join(below, 'bin/busybox'));
  copyFileSync(join(work, 'lister'), join(below, 'lister'));
  for (const name of ['sh', 'echo', 'id', 'sleep']) symlinkSync('busybox', join(below, 'bin', name));
  writeFileSync(join(below, 'etc/passwd'), 'root:x:0:0::/root:/bin/sh\napp:x:1234:1234::/data:/bin/sh\n');
  for (const name of ['a', 'old/b', 'old/c', 'kept/d', 'gone']) writeFileSync(join(below, 'data', name), name);
  linkSync(join(below, 'data/a'), join(below, 'data/linked'));
  chownSync(join(below, 'data'), 1234, 1234);
  chmodSync(join(below, 'data/kept'), 0o2770);
  chmodSync(join(below, 'tmp'), 0o1777);
  setXattr(Buffer.from(join(below, 'data/kept/d')), 'user.note', Buffer.from('kept'));
  buildah('umount', bottom);
  buildah('commit', '-q', bottom, 'bottom');
  const other = buildah('from', 'bottom');
  writeFileSync(join(buildah('mount', other), 'data/other'), 'other');
  buildah('commit', '-q', other, 'other');
  const top = buildah('from', 'bottom');
  const above = buildah('mount', top);
  for (const name of ['gone', 'old']) rmSync(join(above, 'data', name), { recursive: true });
  mkdirSync(join(above, 'data/old'));
  writeFileSync(join(above, 'data/old/new'), 'new');
  writeFileSync(join(above, 'data/capable'), '#!/bin/sh\n');
  chownSync(join(above, 'data/capable'), 1234, 50);
  chmodSync(join(above, 'data/capable'), 0o6755);
  setXattr(
    Buffer.from(join(above, 'data/capable')),
    'security.capability',
    Buffer.from('0100000200200000000000000000000000000000', 'hex'),
  );
  writeFileSync(join(above, 'data', 'n'.repeat(240)), 'long');
  const seen = sorted(execFileSync(join(work, 'lister'), [above], { encoding: 'utf8' }));
  const config = ['--env', 'GREETING=hello there', '--workingdir', '/data', '--user', 'app', '--label', 'made=here'];
  buildah(
    'config',
    ...config,
    '--port',
    '8080',
    '--stop-signal',
    'SIGINT',
    '--entrypoint',
    '["/bin/echo", "I say"]',
    '--cmd',
    'hi',
    top,
  );
  buildah('commit', '-q', top, 'top');
  return seen;
}

/** Takes the blobs of `bottom` out of the registry's own storage: nobody can fetch them any more. */
function removeSharedBlobs(work: string, host: string): void {
  const manifest = JSON.parse(
    execFileSync('skopeo', ['inspect', '--raw', '--tls-verify=false', `docker://${host}/team/deep/bottom:v1`], {
      encoding: 'utf8',
    }),
  ) as { layers: { digest: string }[] };
  for (const { digest } of manifest.layers) {
    const hex = digest.slice('sha256:'.length);
    rmSync(join(work, 'registry/data/docker/registry/v2/blobs/sha256', hex.slice(0, 2), hex), { recursive: true });
  }
}

function sorted(text: string): string[] {
  return text.split('\n').filter(Boolean).sort();
}
