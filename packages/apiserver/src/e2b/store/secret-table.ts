import type { DatabaseSync, StatementSync } from 'node:sqlite';

export type SecretRow = {
  /** Orders them: later ones have larger numbers. */
  seq: number;
  id: string;
  name: string;
  /** Id of the API key that made it. */
  owner: string;
  version: number;
  metadata: Record<string, string>;
  createdAtMs: number;
  updatedAtMs: number;
};

/** Names, versions and metadata of secrets. Their values are not here: nothing on a node could use them yet. */
export class SecretTable {
  readonly #insert: StatementSync;
  readonly #find: StatementSync;
  readonly #list: StatementSync;
  readonly #update: StatementSync;
  readonly #remove: StatementSync;

  constructor(database: DatabaseSync) {
    database.exec(`CREATE TABLE IF NOT EXISTS secrets (
      seq INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, name TEXT NOT NULL, owner TEXT NOT NULL,
      version INTEGER NOT NULL, metadata TEXT NOT NULL, created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL,
      UNIQUE (owner, name)) STRICT`);
    this.#insert = database.prepare(`INSERT OR IGNORE INTO secrets
      (id, name, owner, version, metadata, created_at, updated_at) VALUES (?1, ?2, ?3, 1, ?4, ?5, ?5)`);
    this.#find = database.prepare('SELECT * FROM secrets WHERE owner = ?1 AND (id = ?2 OR name = ?2)');
    this.#list = database.prepare('SELECT * FROM secrets WHERE owner = ? AND seq < ? ORDER BY seq DESC LIMIT ?');
    this.#update = database.prepare(
      'UPDATE secrets SET version = version + 1, metadata = ?, updated_at = ? WHERE id = ?',
    );
    this.#remove = database.prepare('DELETE FROM secrets WHERE id = ?');
  }

  /** False: the owner has one of that name. */
  add(row: Pick<SecretRow, 'id' | 'name' | 'owner' | 'metadata'>, nowMs: number): boolean {
    return this.#insert.run(row.id, row.name, row.owner, JSON.stringify(row.metadata), nowMs).changes === 1;
  }

  /** By id or name. */
  find(owner: string, text: string): SecretRow | undefined {
    const row = this.#find.get(owner, text);
    return row && rowOf(row);
  }

  /** The newest first, those before a number. */
  list(owner: string, before: number, limit: number): SecretRow[] {
    return this.#list.all(owner, before, limit).map(rowOf);
  }

  update(id: string, metadata: Record<string, string>, nowMs: number): void {
    this.#update.run(JSON.stringify(metadata), nowMs, id);
  }

  remove(id: string): void {
    this.#remove.run(id);
  }
}

function rowOf(raw: Record<string, unknown>): SecretRow {
  const { seq, id, name, owner, version } = raw as Omit<SecretRow, 'metadata' | 'createdAtMs' | 'updatedAtMs'>;
  const metadata = JSON.parse(raw.metadata as string) as Record<string, string>;
  return {
    seq,
    id,
    name,
    owner,
    version,
    metadata,
    createdAtMs: raw.created_at as number,
    updatedAtMs: raw.updated_at as number,
  };
}
