import {
  type Deadline,
  decodeCursor,
  holdClaim,
  isoTime,
  type LeaseClaim,
  leaseState,
  newClaim,
  pageOf,
  releaseClaim,
  renewClaim,
  restartClaim,
} from '@vivarium/core';
import { type Lease, type LeaseCreate, VivError } from '@vivarium/protocol';
import type { LeaseService, Owner, PageOf, PageRequest } from '../edge.ts';
import type { EdgeContext } from '../lifecycle/context.ts';
import { endBox } from '../lifecycle/end.ts';
import { holdBox } from '../lifecycle/timeouts.ts';
import type { LeaseRow } from '../registry/lease-table.ts';

type Entry = { row: LeaseRow; claim: LeaseClaim; deadline: Deadline | null };

/** Leases one node may have. */
const LEASES_MAX = 10_000;

/** Clients' claims on their sandboxes. When the client is gone past its grace time, what it owns is ended or held. */
export class Leases implements LeaseService {
  readonly #context: EdgeContext;
  readonly #entries = new Map<string, Entry>();

  /** Leases of a former run get a fresh grace time: their clients could not renew while the edge was down. */
  constructor(context: EdgeContext) {
    this.#context = context;
    for (const row of context.registry.leases.all()) this.#enter(row, restartClaim(row.graceMs, context.clock.now()));
  }

  create(request: LeaseCreate, owner: Owner): Lease {
    const { clock, newId, registry } = this.#context;
    if (this.#entries.size >= LEASES_MAX)
      throw new VivError('too_many_requests', `the node has ${LEASES_MAX} leases, the maximum`, {
        details: { maximum: LEASES_MAX },
      });
    const row: LeaseRow = {
      id: newId(),
      label: request.label ?? null,
      keyId: owner.keyId,
      graceMs: request.graceS * 1000,
      onExpire: request.onExpire,
      createdAt: clock.now(),
    };
    registry.write(() => registry.leases.insert(row));
    return this.#view(this.#enter(row, newClaim(row.graceMs, clock.now())));
  }

  get(id: string): Lease {
    return this.#view(this.#entry(id));
  }

  owner(id: string): string {
    return this.#entry(id).row.keyId;
  }

  find(label: string, owner?: string): Lease | undefined {
    const matches = ({ row }: Entry) => row.label === label && (owner === undefined || row.keyId === owner);
    const found = [...this.#entries.values()].reverse().find(matches);
    return found && this.#view(found);
  }

  list(page: PageRequest, owner?: string): PageOf<Lease> {
    const after = page.cursor === undefined ? '' : decodeCursor(page.cursor);
    const ids = [...this.#entries.values()]
      .filter(({ row }) => row.id > after && (owner === undefined || row.keyId === owner))
      .map(({ row }) => row.id)
      .slice(0, page.limit + 1);
    return pageOf(
      ids.map((id) => this.get(id)),
      page.limit,
      ({ id }) => id,
    );
  }

  renew(id: string): Lease {
    const entry = this.#entry(id);
    this.#claim(entry, renewClaim(entry.claim, this.#context.clock.now()));
    return this.#view(entry);
  }

  hold(id: string): { lease: Lease; release(): void } {
    const entry = this.#entry(id);
    this.#claim(entry, holdClaim(entry.claim));
    let held = true;
    const release = () => {
      if (!held || !this.#entries.has(id)) return;
      held = false;
      this.#claim(entry, releaseClaim(entry.claim, this.#context.clock.now()));
    };
    return { lease: this.#view(entry), release };
  }

  async end(id: string): Promise<void> {
    const { row } = this.#entry(id);
    this.#forget(id);
    await this.#endOwned(row.id);
  }

  /** The edge may have died while it ended what an expired lease owned: the rest is ended now. Those that are held stay. */
  async endOrphans(): Promise<void> {
    const orphans = [...this.#context.boxes.values()].filter(
      ({ row }) => row.lease !== null && !this.#entries.has(row.lease) && row.expiresAt !== null,
    );
    await Promise.allSettled(orphans.map(async (box) => endBox(box, 'lease')));
  }

  #enter(row: LeaseRow, claim: LeaseClaim): Entry {
    const entry: Entry = { row, claim, deadline: null };
    this.#entries.set(row.id, entry);
    this.#claim(entry, claim);
    return entry;
  }

  #claim(entry: Entry, claim: LeaseClaim): void {
    const { deadlines } = this.#context;
    deadlines.cancel(entry.deadline);
    entry.claim = claim;
    entry.deadline = claim.deadlineMs === null ? null : deadlines.add(claim.deadlineMs, () => void this.#expire(entry));
  }

  async #expire(entry: Entry): Promise<void> {
    const { id, onExpire } = entry.row;
    this.#context.log.info({ lease: id, onExpire }, 'a lease expired');
    this.#forget(id);
    if (onExpire === 'kill') await this.#endOwned(id);
    else
      await Promise.all(
        this.#owned(id).map((box) =>
          holdBox(box, 'lease').catch((err) => this.#context.log.error({ err, sandbox: box.id }, 'holding failed')),
        ),
      );
  }

  async #endOwned(id: string): Promise<void> {
    const ends = this.#owned(id).map(async (box) => endBox(box, 'lease'));
    for (const result of await Promise.allSettled(ends)) {
      if (result.status === 'rejected')
        this.#context.log.error({ err: result.reason, lease: id }, 'a sandbox of an ended lease could not be ended');
    }
  }

  #owned(id: string) {
    return [...this.#context.boxes.values()].filter((box) => box.row.lease === id);
  }

  #forget(id: string): void {
    this.#context.deadlines.cancel(this.#entries.get(id)?.deadline);
    this.#entries.delete(id);
    try {
      this.#context.registry.leases.delete(id);
    } catch (err) {
      // It owns nothing then; a restart gives it one more grace time.
      this.#context.log.error({ err, lease: id }, 'the end of a lease could not be written down');
    }
  }

  #entry(id: string): Entry {
    const entry = this.#entries.get(id);
    if (entry) return entry;
    throw new VivError('lease_not_found', `there is no lease ${id}`, { details: { id } });
  }

  #view({ row, claim }: Entry): Lease {
    return {
      id: row.id,
      label: row.label,
      graceS: row.graceMs / 1000,
      onExpire: row.onExpire,
      state: leaseState(claim, this.#context.clock.now()),
      createdAt: isoTime(row.createdAt),
      expiresAt: claim.deadlineMs === null ? null : isoTime(claim.deadlineMs),
      sandboxes: this.#owned(row.id).length,
    };
  }
}
