import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { VivError } from '@vivarium/protocol';

/** Files with a certificate (and those that signed it) and its key, PEM. */
export type CertificateFiles = { cert: string; key: string };

/** Both or none. Throws `invalid_argument` when one is missing. */
export function certificateFiles(cert: string | undefined, key: string | undefined): CertificateFiles | undefined {
  if (cert === undefined && key === undefined) return undefined;
  if (cert === undefined || key === undefined)
    throw new VivError(
      'invalid_argument',
      `--tls-cert and --tls-key belong together: --tls-${cert === undefined ? 'cert' : 'key'} is missing`,
    );
  return { cert: resolve(cert), key: resolve(key) };
}

/** Their texts. Throws `precondition_failed` when they can't be read, are no PEM, or do not belong together. */
export function readCertificate(files: CertificateFiles): { cert: string; key: string } {
  const cert = read(files.cert, '--tls-cert');
  const key = read(files.key, '--tls-key');
  if (!parsedCertificate(cert, files.cert).checkPrivateKey(parsedKey(key, files.key)))
    throw unfit(`--tls-key ${files.key} is not the key of the certificate ${files.cert}`);
  return { cert, key };
}

/** Why clients would not take it for the sandboxes of a domain; undefined: they would, if they trust who signed it. */
export function certificateFault(text: string, domain: string | undefined, nowMs: number): string | undefined {
  const certificate = new X509Certificate(text);
  if (certificate.validToDate.getTime() < nowMs) return `it ended on ${certificate.validTo}`;
  if (certificate.validFromDate.getTime() > nowMs) return `it begins on ${certificate.validFrom}`;
  const host = domain?.replace(/:\d+$/, '');
  if (host === undefined || certificate.checkHost(`49983-0123456789abcdefghij.${host}`) !== undefined) return undefined;
  return `it is for ${certificate.subjectAltName ?? certificate.subject}, not for *.${host}`;
}

function parsedCertificate(text: string, file: string): X509Certificate {
  try {
    return new X509Certificate(text);
  } catch (cause) {
    throw unfit(`--tls-cert ${file} is not a certificate (PEM)`, cause);
  }
}

function parsedKey(text: string, file: string): KeyObject {
  try {
    return createPrivateKey(text);
  } catch (cause) {
    throw unfit(`--tls-key ${file} is not a private key (PEM, without a passphrase)`, cause);
  }
}

function read(file: string, option: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (cause) {
    throw unfit(`${option} ${file} can't be read: ${(cause as Error).message}`, cause);
  }
}

function unfit(message: string, cause?: unknown): VivError {
  return new VivError('precondition_failed', message, { hint: 'docs/tls.md tells how to make both.', cause });
}
