import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import { mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { createIdSource, isoTime, systemClock, systemRandom } from '@vivarium/core';
import { type Key, type KeyCreate, type Scope, VivError } from '@vivarium/protocol';
import { nativeSecret, SECRET_PATTERN } from '@vivarium/protocol/secret.ts';
import type { KeyStore } from './key-store.ts';

type Row = {
  id: string;
  name: string;
  scopes: string;
  max_sandboxes: number | null;
  created_at: number;
  hash: Uint8Array;
};
type Known = { key: Key; hash: Buffer };

/** Keys in a SQLite table `api_keys`, all of them also in memory: a look-up is a hash and a map access. Owns the database if it was given a path. */
export class SqliteKeyStore implements KeyStore {
  readonly #database: DatabaseSync;
  readonly #owned: boolean;
  readonly #byHash = new Map<string, Known>();
  readonly #newId = createIdSource(systemClock, systemRandom);

  constructor(database: DatabaseSync | string) {
    this.#owned = typeof database === 'string';
    if (typeof database === 'string') mkdirSync(dirname(database), { recursive: true, mode: 0o700 });
    this.#database = typeof database === 'string' ? new DatabaseSync(database) : database;
    this.#database.exec(`PRAGMA journal_mode = WAL;
      CREATE TABLE IF NOT EXISTS api_keys (
        id TEXT PRIMARY KEY, name TEXT NOT NULL, scopes TEXT NOT NULL, max_sandboxes INTEGER,
        created_at INTEGER NOT NULL, hash BLOB NOT NULL UNIQUE) STRICT`);
    const rows = this.#database.prepare('SELECT * FROM api_keys ORDER BY id').all() as Row[];
    for (const row of rows) this.#remember(keyOf(row), Buffer.from(row.hash));
  }

  create(request: KeyCreate): Key {
    const secret = `viv_${randomBytes(20).toString('hex')}`;
    const hash = secretHash(secret);
    const at = Date.now();
    const key: Key = {
      id: this.#newId(),
      name: request.name,
      scopes: request.scopes,
      maxSandboxes: request.maxSandboxes ?? null,
      createdAt: isoTime(at),
    };
    this.#database
      .prepare('INSERT INTO api_keys (id, name, scopes, max_sandboxes, created_at, hash) VALUES (?, ?, ?, ?, ?, ?)')
      .run(key.id, key.name, JSON.stringify(key.scopes), key.maxSandboxes, at, hash);
    this.#remember(key, hash);
    return { ...key, secret };
  }

  list(): Key[] {
    return Array.from(this.#byHash.values(), ({ key }) => key);
  }

  remove(id: string): void {
    const { changes } = this.#database.prepare('DELETE FROM api_keys WHERE id = ?').run(id);
    if (changes === 0) throw new VivError('key_not_found', `no key ${id}`);
    for (const [index, known] of this.#byHash) if (known.key.id === id) this.#byHash.delete(index);
  }

  verify(secret: string): Key | undefined {
    if (!SECRET_PATTERN.test(secret)) return undefined;
    const hash = secretHash(nativeSecret(secret));
    const known = this.#byHash.get(hash.toString('latin1'));
    return known && timingSafeEqual(known.hash, hash) ? known.key : undefined;
  }

  close(): void {
    if (this.#owned) this.#database.close();
  }

  #remember(key: Key, hash: Buffer): void {
    this.#byHash.set(hash.toString('latin1'), { key, hash });
  }
}

/** A secret has 160 random bits, so a plain hash is enough: there is nothing to guess. */
function secretHash(secret: string): Buffer {
  return createHash('sha256').update(secret).digest();
}

function keyOf(row: Row): Key {
  return {
    id: row.id,
    name: row.name,
    scopes: JSON.parse(row.scopes) as Scope[],
    maxSandboxes: row.max_sandboxes,
    createdAt: isoTime(row.created_at),
  };
}
