import type { DatabaseSync } from 'node:sqlite';
import type { E2bLogLevel } from '@vivarium/protocol/e2b/template.ts';

export type BuildStatus = 'waiting' | 'building' | 'ready' | 'error';

export type BuildRow = {
  /** A UUID: clients parse it as one. */
  id: string;
  template: string;
  status: BuildStatus;
  /** What its sandboxes get; null: the node's defaults. */
  cpus: number | null;
  memoryMiB: number | null;
  diskMiB: number | null;
  /** The tags it gets once it is ready. */
  tags: string[];
  /** Empty: none. */
  startCmd: string;
  readyCmd: string;
  /** What listened when it was ready at the end of the build. */
  ports: number[];
  reason: { message: string; step: string } | null;
  createdAtMs: number;
  updatedAtMs: number;
  finishedAtMs: number | null;
};

export type LogRow = { atMs: number; level: E2bLogLevel; step: string; message: string };

/** Builds of templates and what they said. */
export class BuildTable {
  readonly #database: DatabaseSync;

  constructor(database: DatabaseSync) {
    database.exec(`
      CREATE TABLE IF NOT EXISTS template_builds (
        id TEXT PRIMARY KEY, template TEXT NOT NULL, status TEXT NOT NULL, facts TEXT NOT NULL,
        created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL, finished_at INTEGER) STRICT;
      CREATE INDEX IF NOT EXISTS builds_by_template ON template_builds (template);
      CREATE TABLE IF NOT EXISTS template_build_logs (
        build TEXT NOT NULL, n INTEGER NOT NULL, at INTEGER NOT NULL, level TEXT NOT NULL, step TEXT NOT NULL,
        message TEXT NOT NULL, PRIMARY KEY (build, n)) STRICT, WITHOUT ROWID`);
    this.#database = database;
  }

  put(row: BuildRow): void {
    const { id, template, status, createdAtMs, updatedAtMs, finishedAtMs, ...facts } = row;
    this.#database
      .prepare(`INSERT OR REPLACE INTO template_builds
        (id, template, status, facts, created_at, updated_at, finished_at) VALUES (?, ?, ?, ?, ?, ?, ?)`)
      .run(id, template, status, JSON.stringify(facts), createdAtMs, updatedAtMs, finishedAtMs);
  }

  get(id: string): BuildRow | undefined {
    return this.#rows('WHERE id = ?', id)[0];
  }

  /** Newest first. */
  ofTemplate(template: string): BuildRow[] {
    return this.#rows('WHERE template = ? ORDER BY created_at DESC, rowid DESC', template);
  }

  withStatus(status: BuildStatus): BuildRow[] {
    return this.#rows('WHERE status = ?', status);
  }

  remove(id: string): void {
    this.#database.prepare('DELETE FROM template_build_logs WHERE build = ?').run(id);
    this.#database.prepare('DELETE FROM template_builds WHERE id = ?').run(id);
  }

  /** Entries from number `from` on, in one transaction. */
  appendLog(build: string, from: number, entries: readonly LogRow[]): void {
    const put = this.#database.prepare(
      'INSERT OR REPLACE INTO template_build_logs (build, n, at, level, step, message) VALUES (?, ?, ?, ?, ?, ?)',
    );
    this.#database.exec('BEGIN');
    try {
      for (const [index, { atMs, level, step, message }] of entries.entries())
        put.run(build, from + index, atMs, level, step, message);
      this.#database.exec('COMMIT');
    } catch (error) {
      // A full disk has ended it already: what went wrong is not to be hidden by that.
      if (this.#database.isTransaction) this.#database.exec('ROLLBACK');
      throw error;
    }
  }

  log(build: string): LogRow[] {
    const rows = this.#database
      .prepare('SELECT at, level, step, message FROM template_build_logs WHERE build = ? ORDER BY n')
      .all(build) as { at: number; level: E2bLogLevel; step: string; message: string }[];
    return rows.map(({ at, ...rest }) => ({ atMs: at, ...rest }));
  }

  #rows(where: string, ...values: string[]): BuildRow[] {
    return this.#database
      .prepare(`SELECT id, template, status, facts, created_at, updated_at, finished_at FROM template_builds ${where}`)
      .all(...values)
      .map(rowOf);
  }
}

function rowOf(raw: Record<string, unknown>): BuildRow {
  const { id, template, status, facts, created_at, updated_at, finished_at } = raw;
  return {
    ...(JSON.parse(facts as string) as BuildRow),
    id: id as string,
    template: template as string,
    status: status as BuildStatus,
    createdAtMs: created_at as number,
    updatedAtMs: updated_at as number,
    finishedAtMs: finished_at as number | null,
  };
}
