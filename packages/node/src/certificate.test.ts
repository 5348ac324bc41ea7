import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { LocalCa } from '@vivarium/apiserver/testing/local-ca.ts';
import { certificateFault, certificateFiles, readCertificate } from './certificate.ts';

const ca = new LocalCa('viv.test');
after(() => ca.remove());
const files = { cert: ca.cert, key: ca.key };
const DAY_MS = 86_400_000;

test('certificate and key belong together on the command line', () => {
  assert.equal(certificateFiles(undefined, undefined), undefined);
  assert.deepEqual(certificateFiles('/a', '/b'), { cert: '/a', key: '/b' });
  assert.throws(() => certificateFiles('/a', undefined), /--tls-key is missing/);
  assert.throws(() => certificateFiles(undefined, '/b'), /--tls-cert is missing/);
});

test('files that can not be used are named with the reason', () => {
  assert.ok(readCertificate(files).cert.includes('BEGIN CERTIFICATE'));
  const broken = join(ca.directory, 'broken');
  writeFileSync(broken, 'not PEM');
  assert.throws(() => readCertificate({ ...files, cert: '/nowhere' }), /--tls-cert \/nowhere can't be read: ENOENT/);
  assert.throws(() => readCertificate({ ...files, cert: broken }), /broken is not a certificate/);
  assert.throws(() => readCertificate({ ...files, key: broken }), /broken is not a private key/);
  assert.throws(
    () => readCertificate({ ...files, key: join(ca.directory, 'ca.key') }),
    /is not the key of the certificate/,
  );
});

test('a certificate must be for the names below the domain, and for this time', () => {
  const text = readFileSync(ca.cert, 'utf8');
  const now = Date.now();
  assert.equal(certificateFault(text, undefined, now), undefined);
  assert.equal(certificateFault(text, 'viv.test', now), undefined);
  assert.equal(certificateFault(text, 'viv.test:7700', now), undefined);
  assert.match(certificateFault(text, 'other.test', now)!, /not for \*\.other\.test/);
  assert.match(certificateFault(text, 'viv.test', now + 30 * DAY_MS)!, /it ended on/);
  assert.match(certificateFault(text, 'viv.test', now - 30 * DAY_MS)!, /it begins on/);
});

test('a certificate without a wildcard is not enough', () => {
  const argv = [
    'req',
    '-x509',
    '-newkey',
    'ec',
    '-pkeyopt',
    'ec_paramgen_curve:P-256',
    '-nodes',
    '-subj',
    '/CN=viv.test',
  ];
  const out = ['-addext', 'subjectAltName=DNS:viv.test', '-keyout', 'one.key', '-out', 'one.pem'];
  execFileSync('openssl', [...argv, ...out], { cwd: ca.directory, stdio: 'ignore' });
  const text = readFileSync(join(ca.directory, 'one.pem'), 'utf8');
  assert.match(certificateFault(text, 'viv.test', Date.now())!, /it is for DNS:viv\.test, not for \*\.viv\.test/);
});
