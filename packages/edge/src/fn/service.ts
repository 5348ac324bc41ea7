import { type Limits, VivError } from '@vivarium/protocol';
import type { FnCall, FnPool, FnResult, FnService, FnSession, FnWarm, Idempotency, Owner, Room } from '../edge.ts';
import type { Execs } from '../exec/service.ts';
import { Admission } from '../lifecycle/admission.ts';
import type { Box } from '../lifecycle/box.ts';
import type { EdgeContext } from '../lifecycle/context.ts';
import { endBox } from '../lifecycle/end.ts';
import { holdingTimeouts } from '../lifecycle/timeouts.ts';
import { type CallRun, round, runCall } from './call.ts';
import { FN_LIMITS, type FnLimits } from './limits.ts';
import { type KeyWatch, OnceCalls } from './once.ts';
import { Pool, type PoolHost } from './pool.ts';
import { Sessions } from './sessions.ts';

const TRIM_EVERY_MS = 5_000;
/** A container that turns out to be dead before anything ran in it is replaced that often for one call. */
const TRIES_MAX = 3;
const GONE = new Set(['sandbox_lost', 'sandbox_dead', 'connection_lost', 'state_conflict']);

/** Calls: pools of clean containers, sessions, and each idempotency key once. */
export class FnCalls implements FnService {
  readonly #context: EdgeContext;
  readonly #execs: Execs;
  readonly #bounds: FnLimits;
  readonly #admission: Admission;
  readonly #once: OnceCalls;
  readonly #sessions: Sessions;
  readonly #pools = new Map<string, Pool>();
  #trimming = false;

  constructor(context: EdgeContext, execs: Execs, bounds: Partial<FnLimits> = {}) {
    this.#context = context;
    this.#execs = execs;
    this.#bounds = { ...FN_LIMITS, ...bounds };
    this.#admission = new Admission(context);
    this.#once = new OnceCalls(context, execs);
    this.#sessions = new Sessions(context, this.#bounds);
    context.reclaim = (count, owner) => this.#reclaim(count, owner);
    context.releaseImage = (image) => this.#releaseImage(image);
    for (const box of context.boxes.values()) if (box.row.kind === 'fn') this.#adopt(box);
  }

  async run(call: FnCall, owner: Owner, idempotency?: Idempotency, room?: Room): Promise<FnResult> {
    const perform = (key: KeyWatch) => this.#perform(call, owner, key, room);
    if (idempotency) return this.#once.run(owner, idempotency, perform, room);
    return perform({ begins: () => {}, refused: () => {} });
  }

  async warm({ image, limits, count }: FnWarm, owner: Owner): Promise<FnPool> {
    const maximum = this.#bounds.poolContainers;
    if (count > maximum)
      throw new VivError('limit_too_high', `a pool has at most ${maximum} containers`, { details: { maximum } });
    const pool = this.#pool(image, limits, owner);
    await pool.warm(count);
    return pool.view();
  }

  pools(owner?: string): FnPool[] {
    return [...this.#pools.values()]
      .map((pool) => pool.view())
      .filter((pool) => owner === undefined || pool.owner === owner);
  }

  sessions(owner?: string): FnSession[] {
    return this.#sessions.list(owner);
  }

  endSession(name: string, owner: Owner): Promise<void> {
    return this.#sessions.end(name, owner.keyId);
  }

  /** Takes no more calls; containers are for the edge to end. */
  close(): void {
    for (const pool of this.#pools.values()) pool.close();
  }

  async #perform(call: FnCall, owner: Owner, key: KeyWatch, room?: Room): Promise<FnResult> {
    if (this.#context.draining) throw new VivError('shutting_down', 'the node is stopping and takes no calls');
    const began = this.#context.clock.monotonicMs();
    const since = () => round(this.#context.clock.monotonicMs() - began);
    const finish = (run: CallRun, cold: boolean, waitMs: number): FnResult => ({
      ...run,
      cold,
      durations: { ...run.durations, waitMs, totalMs: since() },
    });
    if (call.session) {
      return this.#sessions.use(
        call,
        owner,
        () => this.#claim(call, owner),
        async (box, cold) => {
          const waitMs = since();
          const watch = { ...key, begins: () => key.begins(box.id) };
          return finish(await holdingTimeouts(box, () => runCall(box, call, this.#execs, watch, room)), cold, waitMs);
        },
      );
    }
    for (let tries = 1; ; tries++) {
      const pool = this.#pool(call.image, call.limits, owner);
      const { member, cold } = await pool.take();
      const waitMs = since();
      let begun = false;
      const watch = {
        begins: () => {
          key.begins(member.box.id);
          begun = true;
        },
        refused: () => {
          key.refused();
          begun = false;
        },
      };
      try {
        return finish(await runCall(member.box, call, this.#execs, watch, room), cold, waitMs);
      } catch (error) {
        if (begun || tries >= TRIES_MAX || !GONE.has(VivError.from(error).code)) throw error;
      } finally {
        pool.give(member);
      }
    }
  }

  async #claim(call: FnCall, owner: Owner): Promise<{ box: Box; cold: boolean }> {
    const pool = this.#pool(call.image, call.limits, owner);
    const { member, cold } = await pool.take();
    pool.leave(member);
    return { box: member.box, cold };
  }

  #pool(image: string, limits: Limits, owner: Owner): Pool {
    this.#context.images.get(image);
    const key = JSON.stringify([owner.keyId, image, limits]);
    let pool = this.#pools.get(key);
    if (!pool) {
      if (!this.#context.drivers.has('fn')) throw new VivError('unsupported', 'this node runs no calls');
      const host: PoolHost = { context: this.#context, bounds: this.#bounds, admit: (of) => this.#admit(of) };
      pool = new Pool({ image, limits, owner }, host);
      this.#pools.set(key, pool);
      this.#trimLater();
    }
    return pool;
  }

  #admit(owner: Owner): void {
    const size = () => [...this.#pools.values()].reduce((sum, pool) => sum + pool.size, 0);
    // The one that is about to be made is counted.
    const over = size() - this.#bounds.containers;
    if (over > 0 && this.#reclaim(over) < over)
      throw new VivError('node_full', `the node has ${this.#bounds.containers} containers for calls, its maximum`, {
        details: { maximum: this.#bounds.containers },
      });
    this.#admission.check(owner);
  }

  /** Ends containers that wait for calls, to make room for something else. Returns how many. */
  #reclaim(count: number, owner?: string): number {
    let ended = 0;
    for (const pool of this.#pools.values()) {
      if (owner !== undefined && pool.of.owner.keyId !== owner) continue;
      while (ended < count && pool.giveUpOne()) ended += 1;
    }
    return ended;
  }

  async #releaseImage(image: string): Promise<void> {
    const pools = [...this.#pools.values()].filter((pool) => pool.of.image === image);
    await Promise.all(pools.map((pool) => pool.giveUpAll()));
  }

  #trimLater(): void {
    if (this.#trimming) return;
    this.#trimming = true;
    this.#context.clock.after(TRIM_EVERY_MS, () => {
      this.#trimming = false;
      if (this.#context.closed) return;
      for (const [key, pool] of this.#pools) if (pool.trim()) this.#pools.delete(key);
      if (this.#pools.size > 0) this.#trimLater();
    });
  }

  /** A container of a former run may have been used: what runs in it ends by itself, then the container does. */
  #adopt(box: Box): void {
    if (this.#sessions.adopt(box)) return;
    void Promise.all([...box.execs.values()].map((exec) => exec.recorded.catch(() => {})))
      .then(() => (this.#context.closed ? undefined : endBox(box, 'killed', 'the node restarted')))
      .catch((err) =>
        this.#context.log.warn({ err, sandbox: box.id }, 'a container of a former run could not be ended'),
      );
  }
}
