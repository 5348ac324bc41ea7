import type { DatabaseSync, StatementSync } from 'node:sqlite';

/** What the edge knows of a volume. Times in milliseconds since the epoch. */
export type VolumeRow = {
  id: string;
  keyId: string;
  name: string;
  sizeMiB: number;
  /** Opens its files to whoever has it. */
  token: string;
  createdAt: number;
  /** Half made or half removed: the next start removes it. */
  state: 'making' | 'ready' | 'removing';
};

const SCHEMA = `
CREATE TABLE IF NOT EXISTS volumes (
  id TEXT PRIMARY KEY,
  key_id TEXT NOT NULL,
  name TEXT NOT NULL,
  size_mib INTEGER NOT NULL,
  token TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  state TEXT NOT NULL
) WITHOUT ROWID;
`;

/** Volumes, few and in memory too. They outlive a power cut, so their rows are on the disk when a call returns. */
export class VolumeTable {
  readonly #rows = new Map<string, VolumeRow>();
  readonly #db: DatabaseSync;
  readonly #put: StatementSync;
  readonly #delete: StatementSync;

  constructor(db: DatabaseSync) {
    this.#db = db;
    db.exec(SCHEMA);
    this.#put = db.prepare('INSERT OR REPLACE INTO volumes VALUES (?, ?, ?, ?, ?, ?, ?)');
    this.#delete = db.prepare('DELETE FROM volumes WHERE id = ?');
    for (const raw of db.prepare('SELECT * FROM volumes ORDER BY id').all()) {
      const row = parse(raw as Record<string, string | number>);
      this.#rows.set(row.id, row);
    }
  }

  /** By id, as they were made. */
  all(): VolumeRow[] {
    return [...this.#rows.values()];
  }

  get(id: string): VolumeRow | undefined {
    return this.#rows.get(id);
  }

  put(row: VolumeRow): void {
    const { id, keyId, name, sizeMiB, token, createdAt, state } = row;
    this.#durably(() => this.#put.run(id, keyId, name, sizeMiB, token, createdAt, state));
    this.#rows.set(id, row);
  }

  delete(id: string): void {
    this.#durably(() => this.#delete.run(id));
    this.#rows.delete(id);
  }

  /** WAL is synced with each commit only meanwhile: rows of sandboxes need not outlive a power cut. */
  #durably(write: () => void): void {
    this.#db.exec('PRAGMA synchronous = FULL');
    try {
      write();
    } finally {
      this.#db.exec('PRAGMA synchronous = NORMAL');
    }
  }
}

function parse(row: Record<string, string | number>): VolumeRow {
  return {
    id: row.id as string,
    keyId: row.key_id as string,
    name: row.name as string,
    sizeMiB: row.size_mib as number,
    token: row.token as string,
    createdAt: row.created_at as number,
    state: row.state as VolumeRow['state'],
  };
}
