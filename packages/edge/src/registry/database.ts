import { chmodSync, closeSync, openSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { VivError } from '@vivarium/protocol';

const SCHEMA_VERSION = 1;

const SCHEMA = `
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE sandboxes (
  n INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE,
  state TEXT NOT NULL,
  live INTEGER NOT NULL,
  key_id TEXT NOT NULL,
  lease TEXT,
  ended_at INTEGER,
  body TEXT NOT NULL
);
CREATE INDEX sandboxes_live ON sandboxes (live, id);
CREATE INDEX sandboxes_lease ON sandboxes (lease) WHERE lease IS NOT NULL;
CREATE TABLE idempotency (
  key_id TEXT NOT NULL,
  key TEXT NOT NULL,
  request_hash TEXT NOT NULL,
  sandbox TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  PRIMARY KEY (key_id, key)
) WITHOUT ROWID;
CREATE INDEX idempotency_age ON idempotency (created_at);
CREATE INDEX idempotency_sandbox ON idempotency (sandbox);
CREATE TABLE leases (
  id TEXT PRIMARY KEY,
  label TEXT,
  key_id TEXT NOT NULL,
  grace_ms INTEGER NOT NULL,
  on_expire TEXT NOT NULL,
  created_at INTEGER NOT NULL
) WITHOUT ROWID;
`;

/**
 * Opens (or makes) the edge's database, mode 0600: it holds tokens. WAL with synchronous=NORMAL: a row that was written survives the
 * death of our process at any moment; a power cut may lose the last ones, but then the sandboxes are gone too.
 */
export function openDatabase(path: string): DatabaseSync {
  if (path !== ':memory:') closeSync(openSync(path, 'a', 0o600));
  const db = new DatabaseSync(path);
  if (path !== ':memory:') chmodSync(path, 0o600);
  db.exec(
    'PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA busy_timeout = 5000; PRAGMA wal_autocheckpoint = 2000',
  );
  migrate(db, path);
  return db;
}

function migrate(db: DatabaseSync, path: string): void {
  const version = (db.prepare('PRAGMA user_version').get() as { user_version: number }).user_version;
  if (version === SCHEMA_VERSION) return;
  if (version !== 0) {
    throw new VivError(
      'precondition_failed',
      `${path} has schema ${version}, this version of viv knows ${SCHEMA_VERSION}`,
      {
        hint: 'Use the version of viv that wrote it, or another state directory.',
      },
    );
  }
  db.exec(`BEGIN; ${SCHEMA} PRAGMA user_version = ${SCHEMA_VERSION}; COMMIT`);
}
