import { VivError } from '@vivarium/protocol';
import type { FnCall, FnSession, Owner } from '../edge.ts';
import type { Box } from '../lifecycle/box.ts';
import type { EdgeContext } from '../lifecycle/context.ts';
import { endBox } from '../lifecycle/end.ts';
import { armTimeouts } from '../lifecycle/timeouts.ts';
import type { FnLimits } from './limits.ts';

/** Marks the container of a session, also across restarts. */
const LABEL = 'viv.fn.session';

type Session = {
  name: string;
  owner: string;
  box: Promise<Box>;
  live: Box | null;
  tail: Promise<unknown>;
  lastUsedAt: number;
};

/** Containers that belong to sessions: never cleaned, ended by their idle time-out. */
export class Sessions {
  readonly #context: EdgeContext;
  readonly #bounds: FnLimits;
  readonly #sessions = new Map<string, Session>();

  constructor(context: EdgeContext, bounds: FnLimits) {
    this.#context = context;
    this.#bounds = bounds;
  }

  /** After a restart. False when the sandbox is of no session. */
  adopt(box: Box): boolean {
    const name = box.row.labels[LABEL];
    if (name === undefined || box.row.state !== 'running') return false;
    const { keyId } = box.row;
    const session = {
      name,
      owner: keyId,
      box: Promise.resolve(box),
      live: box,
      tail: Promise.resolve(),
      lastUsedAt: this.#now(),
    };
    const key = nameOf(keyId, name);
    this.#sessions.set(key, session);
    this.#forgetWhenEnded(key, session, box);
    return true;
  }

  /**
   * Does something in the session's container, after all that was asked of it before; `claim` takes one for a new session. Throws
   * `state_conflict` when the session has another image or limits, `quota_exceeded` when the key has too many.
   */
  async use<T>(
    call: FnCall,
    owner: Owner,
    claim: () => Promise<{ box: Box; cold: boolean }>,
    work: (box: Box, cold: boolean) => Promise<T>,
  ): Promise<T> {
    let cold = false;
    const session =
      this.#find(call.session!.name, owner.keyId) ??
      this.#open(call, owner, async () => {
        const claimed = await claim();
        cold = claimed.cold;
        return claimed.box;
      });
    const turn = session.tail.then(async () => {
      const box = await session.box;
      requireSame(box, call);
      session.lastUsedAt = this.#now();
      return work(box, cold);
    });
    session.tail = turn.catch(() => {});
    return turn;
  }

  async end(name: string, owner: string): Promise<void> {
    const session = this.#find(name, owner);
    if (!session)
      throw new VivError('session_not_found', `there is no session "${name}"`, { details: { session: name } });
    this.#sessions.delete(nameOf(owner, name));
    await endBox(await session.box, 'killed', 'its session was ended');
  }

  list(owner: string | undefined): FnSession[] {
    return [...this.#sessions.values()].flatMap(({ live, name, owner: of, lastUsedAt }) => {
      if (!live || !isLive(live) || (owner !== undefined && of !== owner)) return [];
      const [exec] = live.execs.values();
      return [{ name, owner: of, sandbox: live.id, image: live.row.image, running: exec?.view() ?? null, lastUsedAt }];
    });
  }

  #find(name: string, owner: string): Session | undefined {
    const session = this.#sessions.get(nameOf(owner, name));
    return session && (!session.live || isLive(session.live)) ? session : undefined;
  }

  #open(call: FnCall, owner: Owner, claim: () => Promise<Box>): Session {
    const { name, idleTimeoutS } = call.session!;
    const key = nameOf(owner.keyId, name);
    const session: Session = {
      name,
      owner: owner.keyId,
      live: null,
      tail: Promise.resolve(),
      lastUsedAt: this.#now(),
      box: this.#requireRoom(owner)
        .then(claim)
        .then((box) => {
          session.live = box;
          box.change({ idleTimeoutS, labels: { ...box.row.labels, [LABEL]: name } });
          armTimeouts(box);
          this.#forgetWhenEnded(key, session, box);
          return box;
        }),
    };
    session.box.catch(() => {
      if (this.#sessions.get(key) === session) this.#sessions.delete(key);
    });
    this.#sessions.set(key, session);
    return session;
  }

  async #requireRoom(owner: Owner): Promise<void> {
    const maximum = this.#bounds.sessionsPerKey;
    const mine = [...this.#sessions.values()].filter(
      (session) => session.owner === owner.keyId && (!session.live || isLive(session.live)),
    ).length;
    // The one that asks is not among them yet.
    if (mine >= maximum)
      throw new VivError('quota_exceeded', `this key has ${maximum} sessions, the maximum`, { details: { maximum } });
  }

  #forgetWhenEnded(key: string, session: Session, box: Box): void {
    const off = this.#context.hub.on(box.id, ({ state }) => {
      if (state !== 'ended' && state !== 'failed') return;
      off();
      if (this.#sessions.get(key) === session) this.#sessions.delete(key);
    });
  }

  #now(): number {
    return this.#context.clock.now();
  }
}

function nameOf(owner: string, name: string): string {
  return `${owner} ${name}`;
}

function isLive({ row }: Box): boolean {
  return row.state === 'running';
}

function requireSame({ row }: Box, { image, limits, session }: FnCall): void {
  const same = row.image === image && JSON.stringify(row.limits) === JSON.stringify(limits);
  if (same) return;
  throw new VivError('state_conflict', `session "${session!.name}" was begun with another image or other limits`, {
    hint: 'Give the same image and limits, or another session name.',
    details: { image: row.image, limits: row.limits },
  });
}
