import type { DatabaseSync } from 'node:sqlite';

export type TemplateRow = {
  id: string;
  /** Id of the API key that made it. */
  owner: string;
  name: string;
  public: boolean;
  createdAtMs: number;
  updatedAtMs: number;
  spawnCount: number;
  lastSpawnedAtMs: number | null;
  /** Orders them: later ones have larger numbers. */
  seq: number;
};

export type TagRow = { tag: string; build: string; createdAtMs: number };

const COLUMNS = 'rowid AS seq, id, owner, name, public, created_at, updated_at, spawn_count, last_spawned_at';

/** Templates by name, and their tags. What was built is in BuildTable. */
export class TemplateTable {
  readonly #database: DatabaseSync;

  constructor(database: DatabaseSync) {
    database.exec(`
      CREATE TABLE IF NOT EXISTS templates (
        id TEXT NOT NULL UNIQUE, owner TEXT NOT NULL, name TEXT NOT NULL, public INTEGER NOT NULL DEFAULT 0,
        created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL, spawn_count INTEGER NOT NULL DEFAULT 0,
        last_spawned_at INTEGER, UNIQUE (name, owner)) STRICT;
      CREATE TABLE IF NOT EXISTS template_tags (
        template TEXT NOT NULL, tag TEXT NOT NULL, build TEXT NOT NULL, created_at INTEGER NOT NULL,
        PRIMARY KEY (template, tag)) STRICT`);
    this.#database = database;
  }

  insert({ id, owner, name }: Pick<TemplateRow, 'id' | 'owner' | 'name'>, nowMs: number): void {
    this.#database
      .prepare('INSERT INTO templates (id, owner, name, created_at, updated_at) VALUES (?, ?, ?, ?, ?)')
      .run(id, owner, name, nowMs, nowMs);
  }

  get(id: string): TemplateRow | undefined {
    return this.#rows('WHERE id = ?', id)[0];
  }

  /** Of all keys, the oldest first. */
  named(name: string): TemplateRow[] {
    return this.#rows('WHERE name = ? ORDER BY rowid', name);
  }

  /** Newest first, those before `beforeSeq`; of one key, or of all. */
  list(owner: string | null, beforeSeq: number, limit: number): TemplateRow[] {
    return this.#rows(
      'WHERE rowid < ?1 AND (?2 IS NULL OR owner = ?2) ORDER BY rowid DESC LIMIT ?3',
      beforeSeq,
      owner,
      limit,
    );
  }

  setPublic(id: string, isPublic: boolean, nowMs: number): void {
    this.#database
      .prepare('UPDATE templates SET public = ?, updated_at = ? WHERE id = ?')
      .run(Number(isPublic), nowMs, id);
  }

  /** A sandbox was made from it. */
  spawned(id: string, nowMs: number): void {
    this.#database
      .prepare('UPDATE templates SET spawn_count = spawn_count + 1, last_spawned_at = ? WHERE id = ?')
      .run(nowMs, id);
  }

  /** With its tags. */
  remove(id: string): void {
    this.#database.prepare('DELETE FROM template_tags WHERE template = ?').run(id);
    this.#database.prepare('DELETE FROM templates WHERE id = ?').run(id);
  }

  /** Moves the tags to this build. */
  tag(template: string, tags: readonly string[], build: string, nowMs: number): void {
    const put = this.#database.prepare(
      'INSERT OR REPLACE INTO template_tags (template, tag, build, created_at) VALUES (?, ?, ?, ?)',
    );
    for (const tag of tags) put.run(template, tag, build, nowMs);
    this.#database.prepare('UPDATE templates SET updated_at = ? WHERE id = ?').run(nowMs, template);
  }

  untag(template: string, tags: readonly string[]): void {
    const remove = this.#database.prepare('DELETE FROM template_tags WHERE template = ? AND tag = ?');
    for (const tag of tags) remove.run(template, tag);
  }

  /** In the order of their names. */
  tags(template: string): TagRow[] {
    const rows = this.#database
      .prepare('SELECT tag, build, created_at FROM template_tags WHERE template = ? ORDER BY tag')
      .all(template) as { tag: string; build: string; created_at: number }[];
    return rows.map(({ tag, build, created_at }) => ({ tag, build, createdAtMs: created_at }));
  }

  #rows(where: string, ...values: (string | number | null)[]): TemplateRow[] {
    return this.#database
      .prepare(`SELECT ${COLUMNS} FROM templates ${where}`)
      .all(...values)
      .map(rowOf);
  }
}

function rowOf(raw: Record<string, unknown>): TemplateRow {
  const { seq, id, owner, name } = raw as TemplateRow;
  return {
    seq,
    id,
    owner,
    name,
    public: raw.public === 1,
    createdAtMs: raw.created_at as number,
    updatedAtMs: raw.updated_at as number,
    spawnCount: raw.spawn_count as number,
    lastSpawnedAtMs: raw.last_spawned_at as number | null,
  };
}
