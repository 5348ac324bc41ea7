import { Duplex } from 'node:stream';
import type { Capability, Change, Kind } from '@vivarium/protocol';
import { VivError } from '@vivarium/protocol';
import type { CellOptions } from '../cell/cell.ts';
import type { CellHandle, CellRecord, CellSpec, CommandGroup, Driver, Usage } from '../drivers/driver.ts';
import { FakeGuest } from './fake-cell.ts';

/** A driver whose cells live in memory and outlive the edge that made them, as real ones do. Every step can be made to fail or to wait. */
export class FakeDriver implements Driver {
  readonly kind: Kind;
  readonly cells = new Map<string, FakeHandle>();
  /** Called at each step of a create; may throw or wait. */
  onStep: (step: 'prepare' | 'start' | 'connect' | 'stop', id: string) => Promise<void> = async () => {};
  swept: string[] = [];

  constructor(kind: Kind = 'container') {
    this.kind = kind;
  }

  /** In place of Cell.open: the guest behind the connection. */
  readonly openCell = async (options: CellOptions) => {
    const stream = (await options.connect()) as Duplex & { guest: FakeGuest };
    return stream.guest.open(options);
  };

  guest(id: string): FakeGuest {
    return this.cells.get(id)!.guest;
  }

  async capabilities(): Promise<Capability[]> {
    return [{ name: 'fake', kind: 'container', ok: true, reason: null, remedy: null }];
  }

  prepare(spec: CellSpec): Promise<void> {
    return this.onStep('prepare', spec.id);
  }

  async start(spec: CellSpec): Promise<CellHandle> {
    await this.onStep('start', spec.id);
    const handle = new FakeHandle(this, spec.id, spec.limits.diskMiB);
    this.cells.set(spec.id, handle);
    return handle;
  }

  async restart(stopped: CellRecord, spec: CellSpec): Promise<CellHandle> {
    await this.onStep('start', spec.id);
    const handle = new FakeHandle(this, stopped.id, spec.limits.diskMiB);
    this.cells.set(stopped.id, handle);
    return handle;
  }

  renew(used: CellHandle, spec: CellSpec): Promise<CellHandle> {
    return this.restart(used.record, spec);
  }

  async adoptStopped(record: CellRecord): Promise<CellHandle> {
    const handle = this.cells.get(record.id);
    if (!handle) throw new VivError('sandbox_lost', `cell ${record.id} is gone`);
    await handle.stop();
    return handle;
  }

  async adopt(record: CellRecord): Promise<CellHandle> {
    const handle = this.cells.get(record.id);
    if (!handle || handle.stopped) throw new VivError('sandbox_lost', `cell ${record.id} is gone`);
    return handle;
  }

  async sweep(known: ReadonlySet<string>): Promise<string[]> {
    this.swept = [...this.cells.keys()].filter((id) => !known.has(id));
    for (const id of this.swept) this.cells.delete(id);
    return this.swept;
  }
}

export class FakeHandle implements CellHandle {
  readonly record: CellRecord;
  readonly guest = new FakeGuest();
  readonly ended: Promise<{ reason: string }>;
  readonly groups = new Map<string, FakeGroup>();
  paused = false;
  stopped = false;
  attached: string[] = [];
  destroyed = 0;
  /** What the kernel would have counted. */
  counted = { oomKills: 0, pidsDenied: 0, throttledUs: 0, diskBytes: 0 };
  die!: (reason: string) => void;
  readonly #driver: FakeDriver;
  readonly #diskMiB: number;

  constructor(driver: FakeDriver, id: string, diskMiB: number) {
    this.#driver = driver;
    this.#diskMiB = diskMiB;
    this.record = { id, kind: 'container' };
    this.ended = new Promise((resolve) => {
      this.die = (reason) => resolve({ reason });
    });
  }

  async connect(): Promise<Duplex> {
    await this.#driver.onStep('connect', this.record.id);
    if (this.stopped) throw new VivError('sandbox_lost', 'it has no PID 1');
    if (this.paused) throw new VivError('request_timeout', 'a frozen guest says nothing');
    const stream = new Duplex({ read() {}, write: (_chunk, _encoding, done) => done() });
    return Object.assign(stream, { guest: this.guest });
  }

  guestConfig() {
    return {};
  }

  async placeCommand(execId: string): Promise<CommandGroup> {
    const group = new FakeGroup(() => this.guest.process(execId).killTree());
    this.groups.set(execId, group);
    return group;
  }

  async findCommand(execId: string): Promise<CommandGroup | null> {
    return this.groups.get(execId) ?? null;
  }

  async endProcesses(keepExecs: readonly string[]): Promise<number> {
    const doomed = [...this.groups].filter(([exec, group]) => !keepExecs.includes(exec) && !group.released);
    for (const [, group] of doomed) await group.kill();
    return doomed.length;
  }

  async attachLayer(_layer: unknown, _from: string, at: string): Promise<void> {
    this.attached.push(at);
  }

  async detachLayer(at: string): Promise<void> {
    this.attached = this.attached.filter((each) => each !== at);
  }

  async pause(): Promise<void> {
    this.paused = true;
  }

  async resume(): Promise<void> {
    this.paused = false;
  }

  async usage(): Promise<Usage> {
    const { throttledUs: cpuThrottledUs, ...counted } = this.counted;
    return {
      cpuUsageUs: 1,
      cpuThrottledUs,
      memoryBytes: 1,
      memoryPeakBytes: 1,
      memoryCacheBytes: 0,
      memoryLimitBytes: 1,
      pids: 1,
      pidsLimit: 10,
      diskLimitBytes: this.#diskMiB * 1_048_576,
      ...counted,
    };
  }

  counters() {
    return { ...this.counted };
  }

  async *changes(): AsyncGenerator<Change> {}

  async exportChanges() {
    return { upperDir: '/nonexistent', idShift: 0, release: async () => {} };
  }

  async snapshotScratch(name: string): Promise<string> {
    return `/snapshots/${name}`;
  }

  async dropSnapshot(): Promise<void> {}

  async stop(): Promise<void> {
    await this.#driver.onStep('stop', this.record.id);
    this.stopped = true;
    this.paused = false;
    this.guest.processes.clear();
    this.die('stopped');
  }

  async destroy(): Promise<void> {
    this.destroyed += 1;
    this.#driver.cells.delete(this.record.id);
    this.die('destroyed');
  }
}

class FakeGroup implements CommandGroup {
  readonly #kill: () => void;
  released = false;
  /** When the last of its processes is gone; the first dies at once. */
  lastGone: Promise<void> = Promise.resolve();

  constructor(kill: () => void) {
    this.#kill = kill;
  }

  async kill(): Promise<void> {
    this.#kill();
    await this.lastGone;
  }

  async signal(): Promise<void> {}

  async populated(): Promise<boolean> {
    return false;
  }

  async release(): Promise<void> {
    this.released = true;
  }
}
