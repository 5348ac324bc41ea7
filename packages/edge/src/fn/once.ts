import { createHash } from 'node:crypto';
import { VivError } from '@vivarium/protocol';
import type { FnResult, Idempotency, Owner, Room } from '../edge.ts';
import type { Execs } from '../exec/service.ts';
import type { EdgeContext } from '../lifecycle/context.ts';
import { readRecord, recordPath, writeError, writeRecord } from './record.ts';

/**
 * Is told in which container a call is about to run its first command: from then on its key is used up, unless that command was refused
 * before anything ran.
 */
export type KeyWatch = { begins(sandbox: string): void; refused(): void };

type Flight = { requestHash: string; result: Promise<FnResult> };

/** Calls with an idempotency key: each runs once, and its result is given again as long as its container's record is kept. */
export class OnceCalls {
  readonly #context: EdgeContext;
  readonly #execs: Execs;
  readonly #flights = new Map<string, Flight>();

  constructor(context: EdgeContext, execs: Execs) {
    this.#context = context;
    this.#execs = execs;
  }

  /** Runs it, or answers with what the key gave before: also an error that came after something had run. */
  async run(
    owner: Owner,
    idempotency: Idempotency,
    perform: (key: KeyWatch) => Promise<FnResult>,
    room?: Room,
  ): Promise<FnResult> {
    const name = `${owner.keyId} ${idempotency.key}`;
    const flight = this.#flights.get(name);
    if (flight) {
      requireSame(flight.requestHash, idempotency);
      return flight.result;
    }
    const result = this.#before(owner, idempotency, room).then(
      (before) => before ?? this.#first(owner, idempotency, perform),
    );
    this.#flights.set(name, { requestHash: idempotency.requestHash, result });
    try {
      return await result;
    } finally {
      this.#flights.delete(name);
    }
  }

  async #before(owner: Owner, idempotency: Idempotency, room: Room | undefined): Promise<FnResult | undefined> {
    const { registry, stateDir } = this.#context;
    const row = registry.idempotency.get(owner.keyId, idempotency.key);
    if (!row) return undefined;
    requireSame(row.requestHash, idempotency);
    const path = recordPath(stateDir, row.sandbox, keyHash(idempotency));
    const result = await readRecord(path, this.#execs, room);
    if (result) return result;
    throw new VivError('sandbox_lost', 'the call had begun when the node lost it; how it went is not known', {
      hint: `\`viv logs ${row.sandbox}\` shows its commands. To run it again use a new idempotency key.`,
      details: { sandbox: row.sandbox },
    });
  }

  async #first(
    owner: Owner,
    idempotency: Idempotency,
    perform: (key: KeyWatch) => Promise<FnResult>,
  ): Promise<FnResult> {
    const { registry, clock, stateDir } = this.#context;
    const { key, requestHash } = idempotency;
    const path = (sandbox: string) => recordPath(stateDir, sandbox, keyHash(idempotency));
    let begun: string | undefined;
    const watch: KeyWatch = {
      begins: (sandbox) => {
        registry.write(() => registry.idempotency.put(owner.keyId, key, { requestHash, sandbox }, clock.now()));
        begun = sandbox;
      },
      refused: () => {
        registry.write(() => registry.idempotency.free(owner.keyId, key));
        begun = undefined;
      },
    };
    try {
      const result = await perform(watch);
      writeRecord(path(result.sandbox), result);
      return result;
    } catch (thrown) {
      const error = VivError.from(thrown);
      // What a retry could mend is no answer for ever: of such a call it is said that it was lost.
      if (begun !== undefined && !error.retryable) this.#noteError(path(begun), error);
      throw error;
    }
  }

  #noteError(path: string, error: VivError): void {
    try {
      writeError(path, error);
    } catch (err) {
      this.#context.log.warn({ err }, 'the error of a call could not be written down');
    }
  }
}

function requireSame(requestHash: string, { key, requestHash: asked }: Idempotency): void {
  if (requestHash !== asked) throw new VivError('idempotency_mismatch', `key "${key}" was used for another call`);
}

function keyHash({ key }: Idempotency): string {
  return createHash('sha256').update(key).digest('hex').slice(0, 32);
}
