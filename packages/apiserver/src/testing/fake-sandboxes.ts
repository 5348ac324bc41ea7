import type { Idempotency, Owner, PageOf, PageRequest, SandboxFilter, SandboxService } from '@vivarium/edge/edge.ts';
import {
  type Change,
  type ForkRequest,
  type Image,
  type JournalRecord,
  type PackReport,
  type PackRequest,
  type PauseRequestInput,
  type ProcessInfo,
  type Sandbox,
  type SandboxCreate,
  type SandboxState,
  type SandboxUpdate,
  type Stats,
  VivError,
} from '@vivarium/protocol';
import { fakeImage, fakeReport } from './fake-images.ts';

export const AT = '2026-01-01T00:00:00.000Z';
let next = 0;
export const fakeId = () => `m${(next++).toString(36).padStart(19, '0')}`;

/** Sandboxes that are rows in a map. */
export class FakeSandboxes implements SandboxService {
  readonly rows = new Map<string, Sandbox>();
  readonly owners = new Map<string, Owner>();
  readonly idempotent = new Map<string, { hash: string; id: string }>();
  readonly subscribers = new Set<(sandbox: Sandbox) => void>();
  touched = 0;
  changeCount = 3;
  failChangesAt = Number.POSITIVE_INFINITY;
  journalEnd = 25;
  /** Creates wait for it. */
  beforeCreate: () => Promise<void> = async () => {};

  async create(request: SandboxCreate, owner: Owner, idempotency?: Idempotency): Promise<Sandbox> {
    await this.beforeCreate();
    if (request.image !== 'base/debian@12') throw new VivError('image_not_found', `no image ${request.image}`);
    const earlier = idempotency && this.idempotent.get(idempotency.key);
    if (earlier) {
      if (earlier.hash !== idempotency.requestHash)
        throw new VivError('idempotency_mismatch', 'another request had this key');
      return this.get(earlier.id);
    }
    const mine = [...this.rows.values()].filter(
      (row) => row.state === 'running' && this.owners.get(row.id)?.keyId === owner.keyId,
    );
    if (owner.maxSandboxes !== null && mine.length >= owner.maxSandboxes)
      throw new VivError('quota_exceeded', `the key has ${mine.length} sandboxes, its quota is ${owner.maxSandboxes}`);
    const sandbox = rowOf(request);
    this.owners.set(sandbox.id, owner);
    if (idempotency) this.idempotent.set(idempotency.key, { hash: idempotency.requestHash, id: sandbox.id });
    return this.#put(sandbox);
  }

  get(id: string): Sandbox {
    const row = this.rows.get(id);
    if (!row) throw new VivError('sandbox_not_found', `no sandbox ${id}`);
    return row;
  }

  alive(id: string): Sandbox {
    const row = this.get(id);
    if (row.state === 'ended') throw new VivError('sandbox_dead', `sandbox ${id} has ended`);
    return row;
  }

  list(filter: SandboxFilter, page: PageRequest): PageOf<Sandbox> {
    const start = Number(page.cursor ?? 0);
    const wanted = (list: readonly string[] | undefined, value: string) => !list?.length || list.includes(value);
    const all = [...this.rows.values()].filter(
      (row) =>
        Object.entries(filter.labels ?? {}).every(([name, value]) => row.labels[name] === value) &&
        Object.entries(filter.metadata ?? {}).every(([name, value]) => row.metadata[name] === value) &&
        wanted(filter.states, row.state) &&
        wanted(filter.images, row.image) &&
        wanted(filter.kinds, row.kind) &&
        (filter.startedAfterMs === undefined || Date.parse(row.startedAt!) > filter.startedAfterMs) &&
        (filter.lease === undefined || row.lease === filter.lease) &&
        (filter.owner === undefined || this.owner(row.id) === filter.owner),
    );
    // As they were made; the real node lists the newest first.
    if (filter.order === 'asc') all.sort((a, b) => (a.id < b.id ? -1 : 1));
    const end = start + page.limit;
    return { items: all.slice(start, end), nextCursor: end < all.length ? String(end) : null };
  }

  update = (id: string, change: SandboxUpdate) =>
    this.#put({
      ...this.alive(id),
      ...(change.labels && { labels: change.labels }),
      ...(change.metadata && { metadata: change.metadata }),
      ...(change.idleTimeoutS !== undefined && { idleTimeoutS: change.idleTimeoutS }),
    });
  kill = async (id: string) => this.#put({ ...this.get(id), state: 'ended', endReason: 'killed', endedAt: AT });
  pause = async (id: string, { memory = true }: PauseRequestInput = {}) =>
    this.#put({ ...this.alive(id), state: 'paused', cold: !memory });
  resume = async (id: string) => this.#put({ ...this.alive(id), state: 'running', cold: false });

  async wake(id: string): Promise<Sandbox> {
    const row = this.alive(id);
    if (row.state === 'running') return row;
    if (row.autoResume) return this.resume(id);
    throw new VivError('sandbox_paused', `sandbox ${id} is ${row.state}`);
  }

  async wait(id: string, states: SandboxState[], waitMs: number): Promise<Sandbox> {
    if (!states.includes(this.get(id).state)) await new Promise((resolve) => setTimeout(resolve, waitMs).unref());
    return this.get(id);
  }

  async stats(id: string): Promise<Stats> {
    this.alive(id);
    return {
      at: AT,
      cpuUsageUs: 1,
      cpuThrottledUs: 0,
      cpuWantedUs: 0,
      memoryBytes: 1,
      memoryPeakBytes: 1,
      memoryCacheBytes: 0,
      memoryLimitBytes: 1,
      oomKills: 0,
      pids: 1,
      pidsLimit: 512,
      diskBytes: 0,
      diskLimitBytes: 1,
      execsRunning: 0,
      execsTotal: 0,
    };
  }

  async statsHistory(id: string): Promise<Stats[]> {
    return [await this.stats(id)];
  }

  async processes(id: string): Promise<ProcessInfo[]> {
    this.alive(id);
    return [
      {
        pid: 1,
        ppid: 0,
        uid: 0,
        state: 'S',
        comm: 'viv-init',
        argv: ['/dev/viv-init'],
        rssKiB: 52,
        userMs: 0,
        systemMs: 0,
      },
    ];
  }

  async *changes(id: string): AsyncIterable<Change> {
    this.alive(id);
    for (let i = 0; i < this.changeCount; i++) {
      if (i === this.failChangesAt) throw new VivError('sandbox_lost', 'it went away');
      yield { path: `/f${i}`, change: 'added', type: 'file', sizeBytes: i };
    }
  }

  async fork(id: string, request: ForkRequest, owner: Owner): Promise<Sandbox[]> {
    const parent = this.alive(id);
    const { count, labels = parent.labels, metadata = parent.metadata } = request;
    const live = [...this.rows.values()].filter(({ id, state }) => state !== 'ended' && this.owner(id) === owner.keyId);
    if (owner.maxSandboxes !== null && live.length + count > owner.maxSandboxes)
      throw new VivError('quota_exceeded', `the key may have ${owner.maxSandboxes} sandboxes`);
    return Array.from({ length: count }, () => {
      const copy = { ...parent, id: fakeId(), labels, metadata };
      this.owners.set(copy.id, owner);
      return this.#put(copy);
    });
  }

  async snapshot(id: string, image: string): Promise<Image> {
    this.alive(id);
    return fakeImage(image);
  }

  async pack(id: string, request: PackRequest): Promise<PackReport> {
    this.alive(id);
    return fakeReport(request);
  }

  async logs(id: string, after: number, limit: number): Promise<JournalRecord[]> {
    this.get(id);
    const records: JournalRecord[] = [];
    for (let seq = after + 1; seq < this.journalEnd && records.length < limit; seq++) records.push(journalRecord(seq));
    return records;
  }

  async *followLogs(id: string, after: number, signal: AbortSignal): AsyncIterable<JournalRecord> {
    this.get(id);
    for (let seq = after + 1; seq < this.journalEnd && !signal.aborted; seq++) yield journalRecord(seq);
  }

  async *events(filter: { id?: string; label?: string; owner?: string }, signal: AbortSignal): AsyncIterable<Sandbox> {
    const queue: Sandbox[] = [];
    let wake = () => {};
    const take = (sandbox: Sandbox) => {
      const { id = sandbox.id, owner } = filter;
      if (id === sandbox.id && (owner === undefined || this.owner(id) === owner)) queue.push(sandbox);
      wake();
    };
    this.subscribers.add(take);
    signal.addEventListener('abort', () => wake());
    try {
      while (!signal.aborted) {
        const sandbox = queue.shift();
        if (sandbox) yield sandbox;
        else await new Promise<void>((resolve) => (wake = resolve));
      }
    } finally {
      this.subscribers.delete(take);
    }
  }

  owner(id: string): string {
    this.get(id);
    return this.owners.get(id)!.keyId;
  }

  token(id: string): string {
    this.get(id);
    return `token-of-${id}`;
  }

  async mount(): Promise<void> {}

  async unmount(): Promise<void> {}

  async sweep(): Promise<{ ended: number }> {
    return { ended: 0 };
  }

  touch(): void {
    this.touched++;
  }

  #put(sandbox: Sandbox): Sandbox {
    this.rows.set(sandbox.id, sandbox);
    for (const tell of this.subscribers) tell(sandbox);
    return sandbox;
  }
}

function rowOf(request: SandboxCreate): Sandbox {
  const { name, kind, image, labels, metadata, limits, idleTimeoutS, lease, reach, overlay, volumes } = request;
  const { onTimeout, pauseMemory, autoResume } = request;
  return {
    id: fakeId(),
    name: name ?? null,
    kind,
    image,
    state: 'running',
    endReason: null,
    error: null,
    labels,
    metadata,
    limits,
    createdAt: AT,
    startedAt: AT,
    endedAt: null,
    expiresAt: AT,
    idleTimeoutS,
    onTimeout,
    pauseMemory,
    autoResume,
    cold: false,
    lease: lease ?? null,
    reach,
    overlay,
    volumes: volumes.map(({ path, readOnly }) => ({ id: fakeId(), name: 'v', path, readOnly })),
    network: 'none',
  };
}

function journalRecord(seq: number): JournalRecord {
  return { seq, at: AT, type: 'state', data: {}, prev: '0', hash: '1' };
}
