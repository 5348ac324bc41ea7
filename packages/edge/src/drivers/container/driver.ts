import { readFileSync } from 'node:fs';
import { VivError } from '@vivarium/protocol';
import { isSpawnerLost, type Spawner } from '../../spawner/client.ts';
import type { CellHandle, CellRecord, CellSpec, Driver } from '../driver.ts';
import { probeContainerCapabilities } from './capabilities.ts';
import { type CellContext, ContainerCell } from './cell.ts';
import { type ContainerRecord, parseRecord } from './cell-record.ts';
import { IdRanges } from './id-range.ts';
import { prepareNode } from './node.ts';
import { LAYERS_MAX } from './overlay.ts';
import type { CreateCell, CreatedCell, Place } from './place.ts';
import { isAlive } from './process-stat.ts';
import { CreateQueue } from './queue.ts';
import { type Scratch, scratchRoom } from './scratch.ts';
import { slotOfSnapshot } from './snapshot-name.ts';

export type ContainerDriverOptions = {
  /** Holds the scratch file and what must survive a reboot. */
  stateDir: string;
  /** Sockets and mounts; on a tmpfs. At most 60 bytes long (socket paths are short). */
  runDir: string;
  /** The built viv-init. */
  vivInitPath: string;
  /** Default: `crun` on the PATH. */
  crunPath?: string;
  spawner: Spawner;
  /** Upper bound of the scratch file; default: no bound but 60 % of the free disk. */
  scratchMiBMax?: number;
  /** Creates under way at once; more wait. Default 8: enough to keep a few cores busy, few enough for short waits. */
  createsMax?: number;
};

const MIB = 1024 * 1024;
/** Below this much free disk no sandbox is made, so that those that run don't meet a full disk under their file system. */
const ROOM_MIN_MIB = 512;

/** Tries of a create that spawners are killed under. */
const CREATE_ATTEMPTS_MAX = 3;

/** Starts the driver: makes the node's directories, scratch file system and control groups, or finds them again. */
export async function createContainerDriver(options: ContainerDriverOptions): Promise<ContainerDriver> {
  return new ContainerDriver(options, await prepareNode(options));
}

/**
 * Containers by crun: each cell in namespaces of its own, on an overlay of shared layers. After a restart all live cells
 * are adopted before the first new one is started: an id range counts as free until its cell is known.
 */
export class ContainerDriver implements Driver {
  readonly kind = 'container';
  readonly #options: ContainerDriverOptions;
  readonly #spawner: Spawner;
  /** Where everything of this node lies. */
  readonly place: Place;
  readonly #scratch: Scratch;
  readonly #ranges = new IdRanges();
  readonly #creates: CreateQueue;
  /** Cells that are being made or live, and snapshots in use: no leftovers. */
  readonly #live = new Set<string>();
  readonly #snapshots = new Set<string>();
  readonly #bootId = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();

  constructor(options: ContainerDriverOptions, { place, scratch }: { place: Place; scratch: Scratch }) {
    this.#options = options;
    this.#spawner = options.spawner;
    this.place = place;
    this.#scratch = scratch;
    this.#creates = new CreateQueue(options.createsMax ?? 8);
  }

  async capabilities(): ReturnType<Driver['capabilities']> {
    return probeContainerCapabilities(this.#options.crunPath);
  }

  async prepare(spec: CellSpec): Promise<void> {
    if (spec.layers.length === 0 || spec.layers.length > LAYERS_MAX)
      throw new VivError('unsupported', `a container takes 1 to ${LAYERS_MAX} layers, not ${spec.layers.length}`);
    const room = scratchRoom(this.#options.stateDir, this.place.runDir);
    if (room < ROOM_MIN_MIB * MIB)
      throw new VivError(
        'node_disk_full',
        `${Math.floor(room / MIB)} MiB left for sandboxes, ${ROOM_MIN_MIB} MiB are kept free`,
      );
  }

  async start(spec: CellSpec): Promise<CellHandle> {
    const slot = this.#takeSlot(spec);
    this.#live.add(spec.id);
    try {
      const created = await this.#creates.run(() => this.#create(this.#params(spec, slot)));
      return this.#handle(spec, slot, created);
    } catch (error) {
      this.#forget(spec.id, slot);
      throw error;
    }
  }

  async restart(stopped: CellRecord, spec: CellSpec): Promise<CellHandle> {
    const { slot } = parseRecord(stopped);
    const params: CreateCell = { ...this.#params(spec, slot), scratchKept: true };
    const created = await this.#creates.run(() => this.#create(params));
    return this.#handle(spec, slot, created);
  }

  async renew(used: CellHandle, spec: CellSpec): Promise<CellHandle> {
    const { slot } = parseRecord(used.record);
    if (used instanceof ContainerCell) used.retire();
    const params: CreateCell = { ...this.#params(spec, slot), renewed: true };
    return this.#handle(spec, slot, await this.#creates.run(() => this.#create(params)));
  }

  async adoptStopped(record: CellRecord): Promise<CellHandle> {
    const known = parseRecord(record);
    const { id, slot, hierarchy, bootId } = known;
    const params = { place: { ...this.place, hierarchy }, id };
    // What reached the disk before the machine went down is anyone's guess (docs/adr/0012).
    if (bootId !== this.#bootId) await this.#spawner.callAgain('destroyCell', params);
    if (!(await this.#spawner.callAgain<boolean>('stopAgain', params)))
      throw new VivError('sandbox_lost', `the files of ${id} are gone`);
    this.#ranges.share(slot);
    this.#live.add(id);
    return new ContainerCell(known, this.#context(id, slot));
  }

  async adopt(record: CellRecord): Promise<CellHandle> {
    const known = parseRecord(record);
    if (known.bootId === this.#bootId && isAlive(known.pid, known.startTime)) {
      this.#ranges.share(known.slot);
      this.#live.add(known.id);
      return new ContainerCell(known, this.#context(known.id, known.slot));
    }
    const place = { ...this.place, hierarchy: known.hierarchy };
    await this.#spawner.callAgain('destroyCell', { place, id: known.id });
    throw new VivError('sandbox_lost', `PID 1 of ${known.id} is gone`);
  }

  sweep(known: ReadonlySet<string>): Promise<string[]> {
    const keep = [...new Set([...known, ...this.#live])];
    return this.#spawner.callAgain('sweep', { place: this.place, known: keep, snapshots: [...this.#snapshots] });
  }

  #takeSlot(spec: CellSpec): number {
    if (spec.scratchFrom === undefined) return this.#ranges.take();
    const slot = slotOfSnapshot(spec.scratchFrom);
    this.#ranges.share(slot);
    return slot;
  }

  /** A spawner killed in mid-create leaves pieces: they are removed, and the create is tried again. */
  async #create(params: CreateCell): Promise<CreatedCell> {
    const { place, id } = params;
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#spawner.call('createCell', params);
      } catch (error) {
        if (!isSpawnerLost(error)) throw error;
        await this.#spawner.callAgain(params.scratchKept ? 'stopCell' : 'destroyCell', { place, id });
        if (attempt >= CREATE_ATTEMPTS_MAX) throw error;
      }
    }
  }

  #params(spec: CellSpec, slot: number): CreateCell {
    return {
      place: this.place,
      id: spec.id,
      hostname: spec.hostname,
      slot,
      layers: spec.layers.map(({ path }) => path),
      limits: spec.limits,
      network: spec.network ?? 'none',
      volumes: spec.volumes ?? [],
      quick: spec.quick ?? false,
      ...(spec.scratchFrom === undefined ? {} : { scratchFrom: spec.scratchFrom }),
    };
  }

  #handle(spec: CellSpec, slot: number, created: CreatedCell): CellHandle {
    const record: ContainerRecord = {
      ...created,
      id: spec.id,
      kind: 'container',
      bootId: this.#bootId,
      slot,
      hierarchy: this.place.hierarchy,
      hostname: spec.hostname,
      layers: spec.layers.map(({ path }) => path),
      limits: spec.limits,
      env: spec.env,
      ...(spec.quick ? { quick: true } : {}),
      ...(spec.network === 'node' ? { network: spec.network } : {}),
    };
    return new ContainerCell(record, this.#context(spec.id, slot));
  }

  #context(id: string, slot: number): CellContext {
    return {
      spawner: this.#spawner,
      place: this.place,
      qgroups: this.#scratch.qgroups,
      snapshots: this.#snapshots,
      onDestroyed: () => this.#forget(id, slot),
    };
  }

  #forget(id: string, slot: number): void {
    this.#live.delete(id);
    this.#ranges.release(slot);
  }
}
