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
