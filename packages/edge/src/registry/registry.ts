import type { DatabaseSync } from 'node:sqlite';
import type { Clock } from '@vivarium/core';
import { diskError } from '../journal/journal.ts';
import { openDatabase } from './database.ts';
import { IdempotencyTable } from './idempotency-table.ts';
import { LeaseTable } from './lease-table.ts';
import { SandboxTable } from './sandbox-table.ts';
import { VolumeTable } from './volume-table.ts';

/** The edge's SQLite database: sandboxes, leases, idempotency keys and what the node is called. */
export class Registry {
  readonly #db: DatabaseSync;
  readonly sandboxes: SandboxTable;
  readonly idempotency: IdempotencyTable;
  readonly leases: LeaseTable;
  readonly volumes: VolumeTable;

  constructor(path: string, clock: Clock) {
    this.#db = openDatabase(path);
    this.sandboxes = new SandboxTable(this.#db, clock);
    this.idempotency = new IdempotencyTable(this.#db);
    this.leases = new LeaseTable(this.#db);
    this.volumes = new VolumeTable(this.#db);
  }

  /** A value that is made once and kept. */
  once(key: string, make: () => string): string {
    const row = this.#db.prepare('SELECT value FROM meta WHERE key = ?').get(key) as { value: string } | undefined;
    if (row) return row.value;
    const value = make();
    this.#db.prepare('INSERT INTO meta (key, value) VALUES (?, ?)').run(key, value);
    return value;
  }

  /** All or nothing. Throws `node_disk_full` when the disk does not take it. */
  transaction<T>(work: () => T): T {
    try {
      this.#db.exec('BEGIN IMMEDIATE');
      const result = work();
      this.#db.exec('COMMIT');
      return result;
    } catch (error) {
      if (this.#db.isTransaction) this.#db.exec('ROLLBACK');
      throw diskError(error, 'edge.db');
    }
  }

  /** One change. Throws `node_disk_full` when the disk does not take it. */
  write<T>(work: () => T): T {
    try {
      return work();
    } catch (error) {
      throw diskError(error, 'edge.db');
    }
  }

  close(): void {
    this.sandboxes.close();
    this.#db.close();
  }
}
