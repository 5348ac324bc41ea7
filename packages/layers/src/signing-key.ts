import {
  createHash,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  sign,
  verify,
} from 'node:crypto';
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { writeFileAtomicSync } from './atomic-file.ts';

/** The key with which this node's builders sign what they made; nothing else is ever mounted. */
export type SigningKey = {
  /** sha256 of the public key, shortened: tells whose signature a manifest carries. */
  id: string;
  sign(text: string): string;
  verify(text: string, signature: string): boolean;
};

/** Reads the ed25519 key (PKCS#8 PEM, mode 0600), or makes it the first time. A file that is no such key throws. */
export function openSigningKey(path: string): SigningKey {
  if (!existsSync(path)) createKeyFile(path);
  const secret = createPrivateKey(readFileSync(path));
  if (secret.asymmetricKeyType !== 'ed25519') throw new Error(`${path} holds no ed25519 key`);
  const open = createPublicKey(secret);
  return {
    id: keyId(open),
    sign: (text) => sign(null, Buffer.from(text), secret).toString('base64'),
    verify: (text, signature) => verify(null, Buffer.from(text), open, Buffer.from(signature, 'base64')),
  };
}

function createKeyFile(path: string): void {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  const { privateKey } = generateKeyPairSync('ed25519');
  writeFileAtomicSync(path, privateKey.export({ type: 'pkcs8', format: 'pem' }) as string, 0o600);
}

function keyId(key: KeyObject): string {
  return createHash('sha256')
    .update(key.export({ type: 'spki', format: 'der' }))
    .digest('hex')
    .slice(0, 16);
}
