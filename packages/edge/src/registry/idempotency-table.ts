import type { DatabaseSync, StatementSync } from 'node:sqlite';

export type IdempotencyRow = { requestHash: string; sandbox: string };

/** How long a key is remembered at least. */
export const IDEMPOTENCY_KEEP_MS = 24 * 3_600_000;

/** Which sandbox a create with a client's idempotency key made. Keys are per API key. */
export class IdempotencyTable {
  readonly #get: StatementSync;
  readonly #put: StatementSync;
  readonly #forget: StatementSync;
  readonly #free: StatementSync;
  readonly #prune: StatementSync;

  constructor(db: DatabaseSync) {
    this.#get = db.prepare('SELECT request_hash, sandbox FROM idempotency WHERE key_id = ? AND key = ?');
    this.#put = db.prepare(
      'INSERT INTO idempotency (key_id, key, request_hash, sandbox, created_at) VALUES (?, ?, ?, ?, ?)',
    );
    this.#forget = db.prepare('DELETE FROM idempotency WHERE sandbox = ?');
    this.#free = db.prepare('DELETE FROM idempotency WHERE key_id = ? AND key = ?');
    this.#prune = db.prepare('DELETE FROM idempotency WHERE created_at < ?');
  }

  get(keyId: string, key: string): IdempotencyRow | undefined {
    const row = this.#get.get(keyId, key) as { request_hash: string; sandbox: string } | undefined;
    return row && { requestHash: row.request_hash, sandbox: row.sandbox };
  }

  put(keyId: string, key: string, row: IdempotencyRow, nowMs: number): void {
    this.#put.run(keyId, key, row.requestHash, row.sandbox, nowMs);
  }

  /** A create that failed left nothing, so its key may be used again. */
  forget(sandbox: string): void {
    this.#forget.run(sandbox);
  }

  /** One key of a sandbox that others may have used too. */
  free(keyId: string, key: string): void {
    this.#free.run(keyId, key);
  }

  prune(nowMs: number): void {
    this.#prune.run(nowMs - IDEMPOTENCY_KEEP_MS);
  }
}
