import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import fc from 'fast-check';
import { type Manifest, manifestDigest, manifestFileName, sealManifest, toImage, unsealManifest } from './manifest.ts';
import { openSigningKey } from './signing-key.ts';

const MANIFEST: Manifest = {
  format: 'vivarium.image/1',
  name: 'base/debian@12',
  layers: [
    {
      digest: `sha256:${'a'.repeat(64)}`,
      sizeBytes: 4096,
      createdBy: 'tar',
      createdAt: '2026-01-02T03:04:05.678Z',
      format: 'erofs',
    },
  ],
  config: { env: { A: '1', B: '2' }, labels: {} },
  createdAt: '2026-01-02T03:04:05.678Z',
  parent: null,
};

test('a sealed manifest is read back; any changed byte that matters is noticed', (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'viv-key-'));
  t.after(() => rmSync(directory, { recursive: true }));
  const key = openSigningKey(join(directory, 'keys', 'images.pem'));
  const sealed = sealManifest(MANIFEST, openSigningKey(join(directory, 'keys', 'images.pem')));
  assert.deepEqual(unsealManifest(sealed, key), MANIFEST);
  fc.assert(
    fc.property(fc.nat({ max: sealed.length - 1 }), fc.nat({ max: 127 }), (at, code) => {
      const changed = sealed.slice(0, at) + String.fromCharCode(code) + sealed.slice(at + 1);
      try {
        assert.deepEqual(unsealManifest(changed, key), MANIFEST);
      } catch (error) {
        assert.ok(!(error instanceof assert.AssertionError), `accepted something else at ${at}`);
      }
    }),
  );
});

test('the digest does not depend on the order of keys', () => {
  const reordered = { ...MANIFEST, config: { labels: {}, env: { B: '2', A: '1' } } };
  assert.equal(manifestDigest(reordered), manifestDigest(MANIFEST));
  assert.equal(toImage(MANIFEST).digest, manifestDigest(MANIFEST));
  assert.equal(manifestFileName(MANIFEST.name), 'base%2Fdebian%4012.json');
});
