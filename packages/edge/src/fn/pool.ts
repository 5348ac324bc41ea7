import { type Limits, VivError } from '@vivarium/protocol';
import type { FnPool, Owner } from '../edge.ts';
import type { EdgeContext } from '../lifecycle/context.ts';
import { Demand } from './demand.ts';
import type { FnLimits } from './limits.ts';
import { Member } from './member.ts';

export type PoolOf = { image: string; limits: Limits; owner: Owner };
export type Taken = { member: Member; cold: boolean };

type Waiter = { resolve(taken: Taken): void; reject(error: VivError): void };

/** What all pools share. */
export type PoolHost = {
  context: EdgeContext;
  bounds: FnLimits;
  /** May one more container be made for this key? Throws what is in the way, having made room where it could. */
  admit(owner: Owner): void;
};

/**
 * Containers of one key, image and set of limits: clean and waiting, in a call, or on their way back. One that was used is never handed
 * out before it has a new cell; one that is dead never.
 */
export class Pool {
  readonly of: PoolOf;
  readonly #host: PoolHost;
  readonly #demand = new Demand();
  /** The last one is the next to go: its caches are warm, and the first ones can be given up. */
  readonly #ready: Member[] = [];
  readonly #busy = new Set<Member>();
  readonly #waiters: Waiter[] = [];
  /** Those that are made or on their way back to clean. */
  readonly #coming = new Set<Promise<void>>();
  #making = 0;
  #cleaning = 0;
  #calls = 0;
  #coldCalls = 0;
  closed = false;

  constructor(of: PoolOf, host: PoolHost) {
    this.of = of;
    this.#host = host;
  }

  /** A clean one: at once, or when one is clean or made. Throws `too_many_requests`, or why none could be made. */
  async take(): Promise<Taken> {
    this.#calls += 1;
    this.#demand.note(this.#busy.size + this.#waiters.length + 1, this.#now());
    const member = this.#pop();
    if (member) {
      this.#busy.add(member);
      this.#grow();
      return { member, cold: false };
    }
    const taken = this.#wait();
    this.#grow();
    const result = await taken;
    if (result.cold) this.#coldCalls += 1;
    return result;
  }

  /** It was used: it comes back clean, or not at all. */
  give(member: Member): void {
    this.#busy.delete(member);
    member.calls += 1;
    if (this.closed) return;
    if (!member.alive) return this.#grow();
    if (member.worn) {
      void this.#end(member);
      return this.#grow();
    }
    this.#cleaning += 1;
    const cleaned = member
      .renew()
      .then(
        () => this.#offer(member, false),
        (err) => this.#host.context.log.warn({ err, sandbox: member.box.id }, 'a used container could not be cleaned'),
      )
      .finally(() => {
        this.#cleaning -= 1;
        this.#grow();
      });
    this.#track(cleaned);
  }

  /** It goes its own way, as a session. */
  leave(member: Member): void {
    this.#busy.delete(member);
    this.#grow();
  }

  /** Resolves when that many are ready. Throws why they can't be made. */
  async warm(count: number): Promise<void> {
    this.#demand.warm(count, this.#now() + this.#host.bounds.idleMs);
    const missing = count - this.#ready.length - this.#making - this.#cleaning;
    await Promise.all(Array.from({ length: Math.max(0, missing) }, () => this.#make()));
    await Promise.all(this.#coming);
  }

  /** Ends what nobody has needed for a while. True when nothing is left of it. */
  trim(): boolean {
    const now = this.#now();
    const { idleMs } = this.#host.bounds;
    this.#ready.splice(0, this.#ready.length, ...this.#ready.filter((member) => member.alive));
    while (this.size > this.#demand.wanted(now) && this.#ready.length > 0) {
      const [oldest] = this.#ready as [Member, ...Member[]];
      if (now - oldest.idleSinceMs < idleMs) break;
      this.#ready.shift();
      void this.#end(oldest);
    }
    return this.size === 0 && this.#waiters.length === 0;
  }

  /** Ends one that is ready, to make room. False when there is none. */
  giveUpOne(): boolean {
    const member = this.#ready.shift();
    if (!member) return false;
    void this.#end(member);
    return true;
  }

  /** Ends all that are ready; resolves when they are gone. None is made in their place until the next call. */
  async giveUpAll(): Promise<void> {
    this.#demand.forget();
    await Promise.all(this.#coming);
    await Promise.all(this.#ready.splice(0).map((member) => this.#end(member)));
  }

  /** Hands out no more and ends nothing: the edge does, or the next one. */
  close(): void {
    this.closed = true;
    const gone = new VivError('shutting_down', 'the node is stopping');
    for (const waiter of this.#waiters.splice(0)) waiter.reject(gone);
  }

  get size(): number {
    return this.#ready.length + this.#busy.size + this.#making + this.#cleaning;
  }

  view(): FnPool {
    const { image, limits, owner } = this.of;
    return {
      image,
      owner: owner.keyId,
      limits,
      ready: this.#ready.length,
      busy: this.#busy.size,
      preparing: this.#making + this.#cleaning,
      wanted: Math.min(this.#host.bounds.poolContainers, this.#demand.wanted(this.#now())),
      calls: this.#calls,
      coldCalls: this.#coldCalls,
    };
  }

  #pop(): Member | undefined {
    for (let member = this.#ready.pop(); member; member = this.#ready.pop()) if (member.alive) return member;
    return undefined;
  }

  #wait(): Promise<Taken> {
    const { context, bounds } = this.#host;
    if (this.closed || context.draining) throw new VivError('shutting_down', 'the node is stopping');
    const busy = (what: string) => new VivError('too_many_requests', what, { details: { maximum: bounds.waiting } });
    if (this.#waiters.length >= bounds.waiting) throw busy(`${bounds.waiting} calls wait for a container already`);
    return new Promise<Taken>((resolve, reject) => {
      const waiter: Waiter = { resolve, reject };
      const cancel = context.clock.after(bounds.waitMs, () => {
        const at = this.#waiters.indexOf(waiter);
        if (at < 0) return;
        this.#waiters.splice(at, 1);
        reject(busy(`no container came free within ${bounds.waitMs} ms`));
      });
      waiter.resolve = (taken) => {
        cancel();
        resolve(taken);
      };
      waiter.reject = (error) => {
        cancel();
        reject(error);
      };
      this.#waiters.push(waiter);
    });
  }

  /** Makes as many as the demand wants, and one at least for whoever waits in vain. */
  #grow(): void {
    if (this.closed) return;
    const most = Math.min(this.#host.bounds.poolContainers, this.#demand.wanted(this.#now()));
    const coming = this.#making + this.#cleaning + this.#ready.length;
    let missing = Math.min(most - this.size, this.#waiters.length - coming + 1);
    if (missing <= 0 && this.#waiters.length > 0 && this.size === 0) missing = 1;
    for (; missing > 0; missing--) this.#track(this.#make().catch((error) => this.#failed(VivError.from(error))));
  }

  #track(coming: Promise<void>): void {
    const tracked = coming.finally(() => this.#coming.delete(tracked));
    this.#coming.add(tracked);
  }

  async #make(): Promise<void> {
    const { context, bounds, admit } = this.#host;
    this.#making += 1;
    let member: Member;
    try {
      admit(this.of.owner);
      member = await Member.make(context, this.of, this.of.owner, bounds);
      this.#offer(member, true);
    } finally {
      this.#making -= 1;
    }
    // Whoever waited for it waits still. After a failure it is #failed that knows what becomes of them.
    if (!member.alive) this.#grow();
  }

  /** With containers left whoever waits gets one of those; with none they hear why. */
  #failed(error: VivError): void {
    this.#host.context.log.warn({ err: error, image: this.of.image }, 'a container for calls could not be made');
    if (this.size > 0) return;
    for (const waiter of this.#waiters.splice(0)) waiter.reject(error);
  }

  #offer(member: Member, cold: boolean): void {
    if (!member.alive || this.closed) return;
    const waiter = this.#waiters.shift();
    if (waiter) {
      this.#busy.add(member);
      return waiter.resolve({ member, cold });
    }
    member.idleSinceMs = this.#now();
    this.#ready.push(member);
  }

  async #end(member: Member): Promise<void> {
    const { log } = this.#host.context;
    await member.end().catch((err) => log.warn({ err, sandbox: member.box.id }, 'ending a container for calls failed'));
  }

  #now(): number {
    return this.#host.context.clock.monotonicMs();
  }
}
