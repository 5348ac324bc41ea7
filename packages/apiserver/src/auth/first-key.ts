import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import type { KeyStore } from './key-store.ts';

/**
 * The key a node makes for its own machine: if the file holds a secret that the store knows, nothing happens; else a key
 * with every scope is made and its secret written there, readable by the owner only (0600). Returns the secret.
 */
export function ensureFirstKey(keys: KeyStore, file: string): string {
  const known = readSecret(file);
  if (known && keys.verify(known)) return known;
  const { secret } = keys.create({ name: 'first', scopes: ['sandboxes', 'images', 'admin'] });
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  const temporary = `${file}.${process.pid}.new`;
  writeFileSync(temporary, `${secret}\n`, { mode: 0o600, flush: true });
  renameSync(temporary, file);
  return secret!;
}

function readSecret(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8').trim();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}
