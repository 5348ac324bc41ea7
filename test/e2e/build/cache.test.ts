import assert from 'node:assert/strict';
import { chmodSync, renameSync, utimesSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { Vivarium, type VivError } from '@vivarium/sdk';
import { packContext } from '@vivarium/sdk/node';
import { BUSYBOX, type BuildNode, made, said, startBuildNode } from '../../harness/build-node.ts';
import { runViv } from '../../harness/node.ts';

/** A step whose result differs each time it is run. */
const RANDOM = 'RUN head -c 16 /dev/urandom > /random';

describe('builds', { concurrency: false }, () => {
  let build: BuildNode;
  before(async () => {
    build = await startBuildNode();
  });
  after(() => build.close());
  const files = async (image: string, command: string): Promise<string> => {
    await using sandbox = await build.node.viv.sandboxes.create({ image });
    return (await sandbox.exec(command)).stdout;
  };

  test('what did not change is not made again; content, mode and name of a file count, its time does not', async () => {
    const directory = build.context('COPY . /c/\nRUN ls -l /c > /list', { a: '1', b: '2' });
    const again = async () => made((await build.build(directory)).events);
    assert.equal(await again(), 2);
    assert.equal(await again(), 0);
    utimesSync(join(directory, 'a'), 5, 5);
    assert.equal(await again(), 0);
    writeFileSync(join(directory, 'a'), 'one');
    assert.equal(await again(), 2);
    chmodSync(join(directory, 'a'), 0o755);
    assert.equal(await again(), 2);
    renameSync(join(directory, 'b'), join(directory, 'c'));
    assert.equal(await again(), 2);
  });

  test('the same name for the same image is fine, for another one it is refused', async () => {
    const one = build.context('RUN echo 1 > /one');
    const first = await build.build(one, { name: 'same/name@1' });
    assert.equal((await build.build(one, { name: 'same/name@1' })).image.digest, first.image.digest);
    await assert.rejects(build.build(build.context('RUN echo 2 > /two'), { name: 'same/name@1' }), {
      code: 'image_exists',
    });
  });

  test('two builds of the same make each step once', async () => {
    const directory = build.context(`${RANDOM}; sleep 1`);
    const built = await Promise.all([build.build(directory), build.build(directory), build.build(directory)]);
    assert.equal(new Set(built.map(({ image }) => image.layers.at(-1)!.digest)).size, 1);
    assert.equal(
      built.reduce((sum, { events }) => sum + made(events), 0),
      1,
    );
  });

  test('who waits for a step that another build is ended in makes it then', async () => {
    const directory = build.context(`${RANDOM}; sleep 2`);
    const abort = new AbortController();
    const left = assert.rejects(build.build(directory, { signal: abort.signal }));
    while ((await build.leftovers()).sandboxes === 0);
    const waiting = build.build(directory);
    setTimeout(() => abort.abort(new Error('enough')), 300);
    await left;
    assert.equal(made((await waiting).events), 1);
  });

  test('without the cache every step is made again, and is the one that counts from then on', async () => {
    const directory = build.context(RANDOM);
    const layer = async (noCache: boolean) => (await build.build(directory, { noCache })).image.layers.at(-1)!.digest;
    const first = await layer(false);
    const second = await layer(true);
    assert.notEqual(second, first);
    assert.equal(await layer(false), second);
  });

  test('stages, arguments, labels, mapped images', async () => {
    const directory = build.context(
      'ARG FLAVOUR=plain\nFROM python:3.12-slim AS made\nARG FLAVOUR\nRUN mkdir /out && echo "$FLAVOUR" > /out/f\nFROM debian\nCOPY --from=made /out /\nFROM nothing:1\n',
    );
    const map = { 'docker.io/library/python:3.12*': BUSYBOX, debian: BUSYBOX };
    const { image } = await build.build(directory, {
      target: '1',
      map,
      buildArgs: { FLAVOUR: 'salt' },
      labels: { l: 'v' },
    });
    assert.equal(await files(image.name, 'cat /f'), 'salt\n');
    assert.deepEqual([image.config.labels, image.lineage?.kind], [{ l: 'v' }, 'build']);
    writeFileSync(join(build.node.paths.stateDir, 'image-map.json'), JSON.stringify({ 'nothing:*': BUSYBOX }));
    await build.build(directory, { map });
    writeFileSync(join(build.node.paths.stateDir, 'image-map.json'), '{');
    await assert.rejects(build.build(directory, { map }), { code: 'precondition_failed' });
    writeFileSync(join(build.node.paths.stateDir, 'image-map.json'), '{}');
  });

  test('mounts are there while a step runs and not in its layer', async () => {
    const directory = build.context(
      [
        'RUN --mount=type=cache,target=/cache --mount=type=bind,source=a,target=/in/a --mount=type=tmpfs,target=/t cat /in/a > /got && touch /cache/x /t/y',
        'RUN --mount=type=bind,target=/ctx cp /ctx/a /copied',
        'RUN ls -d /cache /t /in/a /ctx > /left 2>/dev/null; true',
      ].join('\n'),
      { a: 'mounted' },
    );
    const { image } = await build.build(directory);
    assert.equal(await files(image.name, 'cat /got /copied; cat /left'), 'mountedmounted');
  });

  test('a Dockerfile and its .dockerignore may lie outside the context', async () => {
    const directory = build.context('RUN false', { keep: 'k', drop: 'd' });
    const outside = build.context(`FROM ${BUSYBOX}\nCOPY . /c/`, { 'Dockerfile.dockerignore': 'drop\nDockerfile' });
    const packed = await packContext(directory, { dockerfile: join(outside, 'Dockerfile') });
    const { image } = await build.build(directory, packed);
    assert.equal(await files(image.name, 'ls -A /c'), 'keep\n');
  });

  test('FROM scratch has the files that were copied, and runs a static program', async () => {
    const { image } = await build.build(
      build.context(`FROM scratch\nCOPY --from=${BUSYBOX} /bin/busybox /busybox\nRUN ["/busybox", "touch", "/y"]`),
    );
    await using sandbox = await build.node.viv.sandboxes.create({ image: image.name });
    assert.equal((await sandbox.exec(['/busybox', 'ls', '/'])).stdout, 'busybox\ndev\netc\nproc\ntmp\ny\n');
  });

  test('a context is taken in without a path: names that climb out are refused, links lead nowhere', async () => {
    const { execFileSync } = await import('node:child_process');
    const directory = build.context('COPY l /got');
    execFileSync('ln', ['-s', '/etc/shadow', join(directory, 'l')]);
    await assert.rejects(build.build(directory), { code: 'build_failed', message: /"l" is not there/ });
    const tar = execFileSync('tar', ['-C', directory, '-cf', '-', '--transform=s,^l$,../l,', 'Dockerfile', 'l']);
    await assert.rejects(build.build(directory, { context: tar }), { code: 'path_escapes' });
    await assert.rejects(build.build(directory, { context: Buffer.from('no tar at all') }), {
      code: 'invalid_archive',
    });
  });

  test('only a build that was given the node’s network has it, and only an admin may give it', async () => {
    const server = createServer((_, answer) => answer.end('reached'));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    const directory = build.context(
      `RUN wget -q -O /got http://127.0.0.1:${port}/ && cat /got && cat /etc/resolv.conf && (echo x > /etc/resolv.conf || echo refused)`,
    );
    await assert.rejects(build.build(directory), { code: 'build_failed' });
    const { image, events } = await build.build(directory, { network: 'node' });
    assert.match(said(events), /^reached[\s\S]*refused/);
    assert.equal(await files(image.name, 'cat /got; ls /etc/resolv.conf 2>/dev/null; true'), 'reached');
    const { secret } = await build.node.viv.keys.create({ name: 'plain', scopes: ['images', 'sandboxes'] });
    const plain = new Vivarium({ url: build.node.url, apiKey: secret });
    const refused = plain.images.build({ name: 'p/a@1', network: 'node', ...(await packContext(directory)) });
    await assert.rejects(refused, (thrown: VivError) => thrown.code === 'forbidden' && /admin/.test(thrown.message));
    plain.close();
    server.close();
  });

  test('a hundred steps are no trouble, more layers than an image can have are said', async () => {
    const steps = (count: number) => Array.from({ length: count }, (_, i) => `COPY a /f${i}`).join('\n');
    const { image } = await build.build(build.context(steps(100), { a: 'x' }));
    assert.equal(image.layers.length, 101);
    assert.equal(await files(image.name, 'cat /f0 /f99'), 'xx');
    const tooMany = build.build(build.context(steps(130), { a: 'x' }));
    await assert.rejects(tooMany, { code: 'limit_too_high', message: /^Dockerfile:\d+: COPY a \/f\d+: / });
  });

  test('cached steps are no images to people, and can be removed while what was built stays', async () => {
    const { image } = await build.build(build.context('RUN echo pruned > /p'));
    assert.doesNotMatch(runViv(build.node, ['image', 'ls']).stdout, /cache\//);
    assert.match(runViv(build.node, ['image', 'prune']).stdout, /\d+ steps removed/);
    assert.equal((await build.leftovers()).steps, 0);
    assert.equal(await files(image.name, 'cat /p'), 'pruned\n');
  });
});
