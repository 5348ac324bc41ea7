import type { DatabaseSync, StatementSync } from 'node:sqlite';
import type { Limits } from '@vivarium/protocol';

/** A kept state of a sandbox's files under one tag; snapshots of one name share an id. */
export type SnapshotRow = {
  id: string;
  tag: string;
  name: string | null;
  /** Id of the API key that made it. */
  owner: string;
  /** Where it was taken. */
  sandbox: string;
  image: string;
  /** The template that the sandbox was made from. */
  template: string;
  user: string;
  limits: Limits;
  createdAtMs: number;
  /** Orders them: later ones have larger numbers. */
  seq: number;
};

const COLUMNS = 'rowid AS seq, id, tag, name, owner, sandbox, image, template, user, limits, created_at';

/** Snapshots, and the images of removed ones that something still uses. */
export class SnapshotTable {
  readonly #database: DatabaseSync;
  readonly #put: StatementSync;
  readonly #byId: StatementSync;
  readonly #byName: StatementSync;
  readonly #list: StatementSync;

  constructor(database: DatabaseSync) {
    database.exec(`
      CREATE TABLE IF NOT EXISTS snapshots (
        id TEXT NOT NULL, tag TEXT NOT NULL, name TEXT, owner TEXT NOT NULL, sandbox TEXT NOT NULL, image TEXT NOT NULL,
        template TEXT NOT NULL, user TEXT NOT NULL, limits TEXT NOT NULL, created_at INTEGER NOT NULL, UNIQUE (id, tag)) STRICT;
      CREATE INDEX IF NOT EXISTS snapshots_by_name ON snapshots (name);
      CREATE TABLE IF NOT EXISTS dropped_images (image TEXT PRIMARY KEY) STRICT`);
    this.#database = database;
    this.#put = database.prepare(`INSERT OR REPLACE INTO snapshots
      (id, tag, name, owner, sandbox, image, template, user, limits, created_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`);
    this.#byId = database.prepare(`SELECT ${COLUMNS} FROM snapshots WHERE id = ? ORDER BY rowid DESC`);
    this.#byName = database.prepare(`SELECT ${COLUMNS} FROM snapshots WHERE name = ? ORDER BY rowid DESC`);
    this.#list = database.prepare(`SELECT ${COLUMNS} FROM snapshots
      WHERE rowid < ?1 AND (?2 IS NULL OR owner = ?2) AND (?3 IS NULL OR sandbox = ?3) AND (?4 IS NULL OR name = ?4)
        AND (?5 IS NULL OR tag = ?5)
      ORDER BY rowid DESC LIMIT ?6`);
  }

  put(row: Omit<SnapshotRow, 'seq'>): void {
    const { id, tag, name, owner, sandbox, image, template, user, limits, createdAtMs } = row;
    this.#put.run(id, tag, name, owner, sandbox, image, template, user, JSON.stringify(limits), createdAtMs);
  }

  /** All tags, the newest first. */
  byId(id: string): SnapshotRow[] {
    return this.#byId.all(id).map(rowOf);
  }

  byName(name: string): SnapshotRow[] {
    return this.#byName.all(name).map(rowOf);
  }

  /** Newest first, those before `beforeSeq`. */
  list(
    filter: { owner: string | null; sandbox: string | null; name: string | null; tag: string | null },
    beforeSeq: number,
    limit: number,
  ): SnapshotRow[] {
    const { owner, sandbox, name, tag } = filter;
    return this.#list.all(beforeSeq, owner, sandbox, name, tag, limit).map(rowOf);
  }

  /** Its images go when nothing uses them any more. */
  remove(id: string): void {
    const images = this.byId(id).map(({ image }) => image);
    this.#database.prepare('DELETE FROM snapshots WHERE id = ?').run(id);
    for (const image of images) this.drop(image);
  }

  drop(image: string): void {
    this.#database.prepare('INSERT OR IGNORE INTO dropped_images (image) VALUES (?)').run(image);
  }

  dropped(): string[] {
    return (this.#database.prepare('SELECT image FROM dropped_images').all() as { image: string }[]).map(
      (row) => row.image,
    );
  }

  gone(image: string): void {
    this.#database.prepare('DELETE FROM dropped_images WHERE image = ?').run(image);
  }
}

function rowOf(raw: Record<string, unknown>): SnapshotRow {
  const { created_at, limits, ...rest } = raw;
  return { ...rest, limits: JSON.parse(limits as string), createdAtMs: created_at } as SnapshotRow;
}
