import type { Key, KeyCreate } from '@vivarium/protocol';

/** API keys. Only a hash of each secret is kept. */
export interface KeyStore {
  /** The answer is the only place where the secret appears. */
  create(request: KeyCreate): Key;
  list(): Key[];
  /** Throws `key_not_found`. */
  remove(id: string): void;
  /** The key that belongs to a secret. Takes the same time whatever part of the secret is wrong. */
  verify(secret: string): Key | undefined;
}

/** What every secret looks like; anything else is turned down without a look-up. E2B's clients insist on their own prefix. */
export const SECRET_PATTERN = /^(?:viv|e2b)_[0-9a-f]{40}$/;

/** The form that is stored: both prefixes stand for the same secret. */
export function nativeSecret(secret: string): string {
  return secret.replace(/^e2b_/, 'viv_');
}

/** The same secret as E2B's clients want it. */
export function e2bSecret(secret: string): string {
  return secret.replace(/^viv_/, 'e2b_');
}
