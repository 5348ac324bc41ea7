import '../testing/private-mounts.ts';
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, type TestContext, test } from 'node:test';
import { archiveOf } from '../testing/archives.ts';
import { digestOf, gzip } from '../testing/oci-image.ts';
import { never, place } from '../testing/place.ts';

const hasSkopeo = spawnSync('skopeo', ['--version']).status === 0;
type Answers = Record<string, Buffer | ((response: ServerResponse) => void)>;
const MANIFEST = 'application/vnd.oci.image.manifest.v1+json';

/** A registry that answers as it is told, and a node that may speak to it. */
async function lyingRegistry(context: TestContext, answers: Answers, settings: object = {}) {
  const server = createServer((request, response) => {
    const [, what] = /^\/v2\/(.*)$/.exec(request.url ?? '') ?? [];
    const answer = what === '' ? Buffer.from('{}') : answers[what?.replace(/^x\//, '') ?? ''];
    if (typeof answer === 'function') return answer(response);
    response.statusCode = answer ? 200 : 404;
    if (what?.includes('manifests/')) response.setHeader('content-type', MANIFEST);
    response.end(answer);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  context.after(() => {
    server.closeAllConnections();
    server.close();
  });
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  const at = place(context);
  mkdirSync(at.stateDir, { recursive: true });
  writeFileSync(`${at.stateDir}/registries.json`, JSON.stringify({ plainHttp: [host], ...settings }));
  const store = await at.open();
  const left = () => [
    ...readdirSync(`${at.stateDir}/tmp`),
    ...readdirSync(`${at.stateDir}/layers`).filter((name) => name.endsWith('.erofs')),
  ];
  return { host, store, left };
}

/** The parts of an image with one layer. */
async function imageParts() {
  const layer = gzip(await archiveOf([{ name: 'a', body: 'a' }]));
  const diffId = digestOf(await archiveOf([{ name: 'a', body: 'a' }]));
  const config = Buffer.from(
    JSON.stringify({ os: 'linux', architecture: 'amd64', rootfs: { type: 'layers', diff_ids: [diffId] } }),
  );
  const described = (mediaType: string, bytes: Buffer) => ({ mediaType, digest: digestOf(bytes), size: bytes.length });
  const manifest = Buffer.from(
    JSON.stringify({
      schemaVersion: 2,
      mediaType: MANIFEST,
      config: described('application/vnd.oci.image.config.v1+json', config),
      layers: [described('application/vnd.oci.image.layer.v1.tar+gzip', layer)],
    }),
  );
  return { layer, config, manifest };
}

describe('a registry', { skip: hasSkopeo ? false : 'not installed: skopeo' }, () => {
  test('that tells the truth gives its image', async (t) => {
    const { layer, config, manifest } = await imageParts();
    const { host, store } = await lyingRegistry(t, {
      'manifests/v1': manifest,
      [`manifests/${digestOf(manifest)}`]: manifest,
      [`blobs/${digestOf(layer)}`]: layer,
      [`blobs/${digestOf(config)}`]: config,
    });
    const { layers } = await store.pull(`${host}/x:v1`, never());
    const pinned = await store.pull(`${host}/x@${digestOf(manifest)}`, never());
    assert.deepEqual(pinned.layers, layers);
    await store.close();
  });

  test('that has something else under a pinned digest is refused', async (t) => {
    const { layer, config, manifest } = await imageParts();
    const pinned = `sha256:${createHash('sha256').update('another').digest('hex')}`;
    const { host, store, left } = await lyingRegistry(t, {
      [`manifests/${pinned}`]: manifest,
      [`blobs/${digestOf(layer)}`]: layer,
      [`blobs/${digestOf(config)}`]: config,
    });
    await assert.rejects(store.pull(`${host}/x@${pinned}`, never()), {
      code: 'invalid_image',
      message: /something else/,
    });
    assert.deepEqual(left(), []);
  });

  test('that sends another blob than it named is refused', async (t) => {
    const { layer, config, manifest } = await imageParts();
    const { host, store, left } = await lyingRegistry(t, {
      'manifests/v1': manifest,
      [`blobs/${digestOf(layer)}`]: Buffer.alloc(layer.length),
      [`blobs/${digestOf(config)}`]: config,
    });
    await assert.rejects(store.pull(`${host}/x:v1`, never()), { code: 'import_failed' });
    assert.deepEqual(left(), []);
  });

  test('that never answers is given up after its time', async (t) => {
    const { host, store, left } = await lyingRegistry(t, { 'manifests/v1': () => {} }, { timeoutS: 1 });
    await assert.rejects(store.pull(`${host}/x:v1`, never()), { code: 'import_failed', message: /longer than 1 s/ });
    assert.deepEqual(left(), []);
  });

  test('whose answer is no manifest is refused', async (t) => {
    const { host, store } = await lyingRegistry(t, { 'manifests/v1': Buffer.from('<html>') });
    await assert.rejects(store.pull(`${host}/x:v1`, never()), /no manifest|manifest/);
  });
});
