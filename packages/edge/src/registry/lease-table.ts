import type { DatabaseSync, StatementSync } from 'node:sqlite';

export type LeaseRow = {
  id: string;
  label: string | null;
  keyId: string;
  graceMs: number;
  onExpire: 'kill' | 'pause';
  createdAt: number;
};

/** Leases that have not ended. Who holds them is known to the running edge only. */
export class LeaseTable {
  readonly #insert: StatementSync;
  readonly #delete: StatementSync;
  readonly #all: StatementSync;
  readonly #has: StatementSync;

  constructor(db: DatabaseSync) {
    this.#insert = db.prepare(
      'INSERT INTO leases (id, label, key_id, grace_ms, on_expire, created_at) VALUES (?, ?, ?, ?, ?, ?)',
    );
    this.#delete = db.prepare('DELETE FROM leases WHERE id = ?');
    this.#has = db.prepare('SELECT 1 FROM leases WHERE id = ?');
    this.#all = db.prepare('SELECT * FROM leases ORDER BY id');
  }

  insert(row: LeaseRow): void {
    this.#insert.run(row.id, row.label, row.keyId, row.graceMs, row.onExpire, row.createdAt);
  }

  delete(id: string): void {
    this.#delete.run(id);
  }

  has(id: string): boolean {
    return this.#has.get(id) !== undefined;
  }

  all(): LeaseRow[] {
    return this.#all.all().map((raw) => {
      const row = raw as Record<string, string | number | null>;
      return {
        id: row.id as string,
        label: row.label as string | null,
        keyId: row.key_id as string,
        graceMs: row.grace_ms as number,
        onExpire: row.on_expire as LeaseRow['onExpire'],
        createdAt: row.created_at as number,
      };
    });
  }
}
