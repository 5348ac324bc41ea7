import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { type Clock, isLive } from '@vivarium/core';
import type { SandboxFilter } from '../edge.ts';
import type { SandboxRow } from './sandbox-row.ts';
import { UnsavedRows } from './unsaved-rows.ts';

/** Rows read at once while a filtered list is made. */
const SCAN_ROWS = 500;

/** A condition with two parameters: the key's id, or twice null for any. */
const OF_OWNER = '(? IS NULL OR key_id = ?)';

/** The table of sandboxes: written before anything is answered. */
export class SandboxTable {
  readonly #insert: StatementSync;
  readonly #update: StatementSync;
  readonly #get: StatementSync;
  readonly #delete: StatementSync;
  readonly #live: StatementSync;
  readonly #scans: Record<'all' | 'lease', Record<'asc' | 'desc', StatementSync>>;
  readonly #total: StatementSync;
  readonly #surplus: StatementSync;

  readonly #unsaved: UnsavedRows;

  constructor(db: DatabaseSync, clock: Clock) {
    this.#unsaved = new UnsavedRows(clock, (row) => this.#put(row));
    this.#insert = db.prepare(
      'INSERT INTO sandboxes (id, state, live, key_id, lease, ended_at, body) VALUES (?, ?, ?, ?, ?, ?, ?)',
    );
    this.#update = db.prepare(
      'UPDATE sandboxes SET state = ?, live = ?, lease = ?, ended_at = ?, body = ? WHERE id = ?',
    );
    this.#get = db.prepare('SELECT body FROM sandboxes WHERE id = ?');
    this.#delete = db.prepare('DELETE FROM sandboxes WHERE id = ?');
    this.#live = db.prepare('SELECT body FROM sandboxes WHERE live = 1 ORDER BY id');
    const scan = (where: string) => ({
      desc: db.prepare(`SELECT body FROM sandboxes WHERE ${where} AND id < ? ORDER BY id DESC LIMIT ?`),
      asc: db.prepare(`SELECT body FROM sandboxes WHERE ${where} AND id > ? ORDER BY id ASC LIMIT ?`),
    });
    this.#scans = { all: scan(OF_OWNER), lease: scan('lease = ?') };
    this.#total = db.prepare("SELECT seq FROM sqlite_sequence WHERE name = 'sandboxes'");
    this.#surplus = db.prepare(
      "SELECT id FROM sandboxes WHERE live = 0 AND (ended_at < ? OR id <= coalesce((SELECT id FROM sandboxes WHERE live = 0 ORDER BY id DESC LIMIT 1 OFFSET ?), '')) LIMIT ?",
    );
  }

  insert(row: SandboxRow): void {
    this.#insert.run(
      row.id,
      row.state,
      isLive(row.state) ? 1 : 0,
      row.keyId,
      row.lease,
      row.endedAt,
      JSON.stringify(row),
    );
  }

  /** Throws what SQLite throws when the disk does not take it. */
  update(row: SandboxRow): void {
    this.#put(row);
    this.#unsaved.drop(row.id);
  }

  /** Writes it as soon as the disk takes it; until then it is read from memory. For what must not be refused. */
  updateLater(row: SandboxRow): void {
    this.#unsaved.add({ ...row });
  }

  close(): void {
    this.#unsaved.close();
  }

  #put(row: SandboxRow): void {
    this.#update.run(row.state, isLive(row.state) ? 1 : 0, row.lease, row.endedAt, JSON.stringify(row), row.id);
  }

  get(id: string): SandboxRow | undefined {
    return this.#unsaved.get(id) ?? parse(this.#get.get(id));
  }

  delete(id: string): void {
    this.#delete.run(id);
    this.#unsaved.drop(id);
  }

  live(): SandboxRow[] {
    return this.#live.all().map((row) => parse(row)!);
  }

  /** At most `limit` in the order asked for (newest first), those that come after the id `after` in it (if any). */
  list(filter: SandboxFilter, after: string | undefined, limit: number): SandboxRow[] {
    const found: SandboxRow[] = [];
    let from = after ?? (filter.order === 'asc' ? '' : '~');
    while (found.length < limit) {
      const rows = this.#scan(filter, from);
      for (const raw of rows) {
        const read = parse(raw)!;
        const row = this.#unsaved.get(read.id) ?? read;
        from = row.id;
        if (found.length < limit && matches(row, filter)) found.push(row);
      }
      if (rows.length < SCAN_ROWS) break;
    }
    return found;
  }

  /** The narrowest index that holds all that match. */
  #scan(filter: SandboxFilter, from: string) {
    const { order = 'desc', lease, owner = null } = filter;
    if (lease) return this.#scans.lease[order].all(lease, from, SCAN_ROWS);
    return this.#scans.all[order].all(owner, owner, from, SCAN_ROWS);
  }

  /** All that were ever made here. */
  createdTotal(): number {
    return (this.#total.get() as { seq: number } | undefined)?.seq ?? 0;
  }

  /** Ended ones that are too old, or too many. */
  surplus(endedBeforeMs: number, keep: number, limit: number): string[] {
    return this.#surplus.all(endedBeforeMs, keep, limit).map((row) => (row as { id: string }).id);
  }
}

/** Does a sandbox have all that is asked for? */
export function matches(row: SandboxRow, filter: SandboxFilter): boolean {
  const { states, images, kinds, startedAfterMs } = filter;
  if (states && states.length > 0 && !states.includes(row.state)) return false;
  if (images && images.length > 0 && !images.includes(row.image)) return false;
  if (kinds && !kinds.includes(row.kind)) return false;
  if (startedAfterMs !== undefined && (row.startedAt === null || row.startedAt <= startedAfterMs)) return false;
  if (filter.lease && row.lease !== filter.lease) return false;
  if (filter.owner !== undefined && row.keyId !== filter.owner) return false;
  return hasAll(row.labels, filter.labels) && hasAll(row.metadata, filter.metadata);
}

function hasAll(has: Record<string, string> = {}, wanted: Record<string, string> = {}): boolean {
  return Object.entries(wanted).every(([key, value]) => Object.hasOwn(has, key) && has[key] === value);
}

function parse(row: unknown): SandboxRow | undefined {
  return row === undefined ? undefined : (JSON.parse((row as { body: string }).body) as SandboxRow);
}
