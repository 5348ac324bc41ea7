import type { DatabaseSync, StatementSync } from 'node:sqlite';
import type { E2bNetwork, E2bVolumeMount } from '@vivarium/protocol/e2b/control.ts';

/** What only E2B clients speak of, about one sandbox. */
export type SandboxFacts = {
  /** As the client asked for it. */
  templateID: string;
  alias: string | null;
  image: string;
  /** False: envd calls need no access token (older clients' default). */
  secure: boolean;
  network: E2bNetwork | null;
  allowInternetAccess: boolean | null;
  volumeMounts: E2bVolumeMount[];
  /** Who calls act as that name nobody. */
  user: string;
};

/** A native sandbox as E2B clients see it: its template is its image, and its token is needed for everything. */
export function nativeFacts(image: string, user: string): SandboxFacts {
  return {
    templateID: image,
    alias: null,
    image,
    secure: true,
    network: null,
    allowInternetAccess: null,
    volumeMounts: [],
    user,
  };
}

/** As many are kept in memory: every call to a sandbox asks for its facts. */
const KEPT = 4096;

/** Facts by sandbox, a row each. */
export class SandboxFactsTable {
  readonly #kept = new Map<string, SandboxFacts>();
  readonly #get: StatementSync;
  readonly #put: StatementSync;
  readonly #remove: StatementSync;
  readonly #ids: StatementSync;
  readonly #images: StatementSync;

  constructor(database: DatabaseSync) {
    database.exec(`CREATE TABLE IF NOT EXISTS sandboxes (
      id TEXT PRIMARY KEY, template TEXT NOT NULL, alias TEXT, image TEXT NOT NULL, facts TEXT NOT NULL) STRICT`);
    this.#get = database.prepare('SELECT facts FROM sandboxes WHERE id = ?');
    this.#put = database.prepare(
      'INSERT OR REPLACE INTO sandboxes (id, template, alias, image, facts) VALUES (?, ?, ?, ?, ?)',
    );
    this.#remove = database.prepare('DELETE FROM sandboxes WHERE id = ?');
    this.#ids = database.prepare('SELECT id FROM sandboxes');
    this.#images = database.prepare('SELECT DISTINCT image FROM sandboxes WHERE template = ?1 OR alias = ?1');
  }

  /** Undefined: it was not made over this surface. */
  get(id: string): SandboxFacts | undefined {
    const kept = this.#kept.get(id);
    if (kept) return kept;
    const row = this.#get.get(id) as { facts: string } | undefined;
    return row && this.#keep(id, JSON.parse(row.facts) as SandboxFacts);
  }

  put(id: string, facts: SandboxFacts): void {
    this.#put.run(id, facts.templateID, facts.alias, facts.image, JSON.stringify(facts));
    this.#keep(id, facts);
  }

  /** Images that sandboxes of a template (by id or alias) were made from. */
  imagesOf(template: string): string[] {
    return (this.#images.all(template) as { image: string }[]).map(({ image }) => image);
  }

  /** Forgets those that the node has forgotten. */
  prune(known: (id: string) => boolean): void {
    for (const { id } of this.#ids.all() as { id: string }[]) {
      if (known(id)) continue;
      this.#remove.run(id);
      this.#kept.delete(id);
    }
  }

  /** The oldest gives way. */
  #keep(id: string, facts: SandboxFacts): SandboxFacts {
    this.#kept.delete(id);
    this.#kept.set(id, facts);
    if (this.#kept.size > KEPT) this.#kept.delete(this.#kept.keys().next().value!);
    return facts;
  }
}
