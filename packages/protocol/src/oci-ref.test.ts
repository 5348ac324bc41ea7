import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { ImageName } from './id.ts';
import { ImageRef, OciReference } from './image-ref.ts';
import { formatOciRef, ociImageName, parseOciRef } from './oci-ref.ts';

const HEX = 'a'.repeat(64);
const GOOD: [text: string, full: string, name: string][] = [
  ['python:3.12-slim', 'docker.io/library/python:3.12-slim', 'oci/docker.io/library/python@3.12-slim'],
  ['me/app:v1', 'docker.io/me/app:v1', 'oci/docker.io/me/app@v1'],
  ['docker://ghcr.io/a/b/c/d:v1', 'ghcr.io/a/b/c/d:v1', 'oci/ghcr.io/a/b/c/d@v1'],
  ['localhost/x', 'localhost/x:latest', 'oci/localhost/x@latest'],
  ['127.0.0.1:5000/x', '127.0.0.1:5000/x:latest', 'oci/127.0.0.1_5000/x@latest'],
  ['Host.example:5000/x:T', 'host.example:5000/x:T', 'oci/host.example_5000/x@T'],
  [`a.b/x@sha256:${HEX}`, `a.b/x@sha256:${HEX}`, `oci/a.b/x@sha256-${HEX}`],
  [`a.b/x:tag@sha256:${HEX}`, `a.b/x@sha256:${HEX}`, `oci/a.b/x@sha256-${HEX}`],
];

for (const [text, full, name] of GOOD) {
  test(`${text.slice(0, 40)} is ${full.slice(0, 40)}`, () => {
    const ref = parseOciRef(text);
    assert.ok(ref);
    assert.equal(formatOciRef(ref), full);
    assert.equal(ociImageName(ref), name);
    assert.ok(ImageName.safeParse(name).success);
  });
}

for (const text of [
  '',
  ':',
  '/',
  'a//b:1',
  'UPPER/x:1',
  'x:',
  'x:-1',
  'x@sha256:12',
  'x@1',
  'a b:1',
  '-o:1',
  'a/../b:1',
  '--x=y:1',
  'x:1\n',
])
  test(`${JSON.stringify(text)} is no OCI reference`, () => assert.equal(parseOciRef(text), null));

test('an image’s name is never taken for an OCI reference, and a bare word is neither', () => {
  assert.ok(ImageRef.safeParse('base/debian@12').success);
  assert.equal(OciReference.safeParse('base/debian@12').success, false);
  assert.equal(ImageRef.safeParse('debian').success, false);
  assert.ok(ImageRef.safeParse('debian:12').success);
});

test('no text names two images, and none is an option of a program', () => {
  const part = fc.stringMatching(/^[a-z0-9._:/@-]{1,12}$/);
  fc.assert(
    fc.property(part, part, (a, b) => {
      const ref = parseOciRef(`${a}/${b}`);
      if (!ref) return;
      assert.deepEqual(parseOciRef(formatOciRef(ref)), ref);
      assert.match(formatOciRef(ref), /^[A-Za-z0-9]/);
    }),
  );
});
