import { chmodSync, closeSync, mkdirSync, openSync } from 'node:fs';
import { dirname } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { BuildTable } from './store/build-table.ts';
import { SandboxFactsTable } from './store/sandbox-facts.ts';
import { SecretTable } from './store/secret-table.ts';
import { SnapshotTable } from './store/snapshot-table.ts';
import { TemplateTable } from './store/template-table.ts';

/** What only E2B clients speak of, in a SQLite file of its own. Each part makes its tables with `CREATE TABLE IF NOT EXISTS`. */
export class E2bStore {
  readonly database: DatabaseSync;
  readonly sandboxes: SandboxFactsTable;
  readonly secrets: SecretTable;
  readonly snapshots: SnapshotTable;
  readonly templates: TemplateTable;
  readonly builds: BuildTable;

  constructor(file: string) {
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
    // Logs of builds and headers of network rules are nobody else's business; SQLite's other files take the same mode.
    closeSync(openSync(file, 'a', 0o600));
    chmodSync(file, 0o600);
    this.database = new DatabaseSync(file);
    this.database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA busy_timeout = 5000');
    this.sandboxes = new SandboxFactsTable(this.database);
    this.secrets = new SecretTable(this.database);
    this.snapshots = new SnapshotTable(this.database);
    this.templates = new TemplateTable(this.database);
    this.builds = new BuildTable(this.database);
  }

  close(): void {
    this.database.close();
  }
}
