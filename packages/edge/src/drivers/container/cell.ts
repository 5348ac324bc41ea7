import type { Duplex } from 'node:stream';
import { VivError } from '@vivarium/protocol';
import { CellGroup } from '../../limits/cell-group.ts';
import { endProcesses } from '../../limits/cell-sweep.ts';
import { findCommand, placeCommand } from '../../limits/command-group.ts';
import { freeze } from '../../limits/freezer.ts';
import { readCounters, readUsage } from '../../limits/usage.ts';
import { WholeCell } from '../../limits/whole-cell.ts';
import type { Spawner } from '../../spawner/client.ts';
import type { CellHandle, CommandGroup, Counters, GuestConfig, LayerMount, Usage } from '../driver.ts';
import type { ContainerRecord } from './cell-record.ts';
import { connectCell } from './control-socket.ts';
import { guestConfig } from './guest-config.ts';
import { idBase } from './id-range.ts';
import { type Place, paths } from './place.ts';
import { isAlive } from './process-stat.ts';
import { snapshotName } from './snapshot-name.ts';

export type CellContext = {
  spawner: Spawner;
  place: Place;
  /** Directory in which the kernel counts the bytes of each subvolume. */
  qgroups: string;
  onDestroyed(): void;
  /** Snapshots that are in use: a sweep leaves them alone. */
  snapshots: Set<string>;
};

/** After its stream ended, PID 1's end is looked for at once, after this, after twice this, and so on up to the last. */
const END_POLL_FIRST_MS = 2;
const END_POLL_LAST_MS = 2_048;

/** A live container. Cheap: thousands of them lie in the server's memory. */
export class ContainerCell implements CellHandle {
  readonly record: ContainerRecord;
  readonly ended: Promise<{ reason: string }>;
  readonly #context: CellContext;
  readonly #group: CellGroup;
  #end: (end: { reason: string }) => void = () => undefined;
  #destroyed: Promise<void> | undefined;
  #exports = 0;
  #retired = false;

  constructor(record: ContainerRecord, context: CellContext) {
    this.record = record;
    this.#context = context;
    this.#group = new CellGroup(record.hierarchy, record.id);
    this.ended = new Promise((resolve) => {
      this.#end = resolve;
    });
  }

  async connect(): Promise<Duplex> {
    const alive = () => this.#isAlive();
    const socket = await connectCell(paths.socket(this.#context.place.runDir, this.record.id), alive).catch((error) => {
      if (error instanceof VivError && error.code === 'sandbox_lost') this.#end({ reason: 'PID 1 is gone' });
      throw error;
    });
    socket.once('close', () => this.#watchEnd(END_POLL_FIRST_MS));
    return socket;
  }

  guestConfig(): GuestConfig {
    const { limits, env, network } = this.record;
    return guestConfig(limits, env, network ?? 'none');
  }

  async placeCommand(execId: string, guestPid: number): Promise<CommandGroup> {
    if (this.record.quick) return new WholeCell(this.#group, this.record.pid);
    return placeCommand(this.#group, this.record.pid, execId, guestPid);
  }

  async findCommand(execId: string): Promise<CommandGroup | null> {
    if (this.record.quick) return new WholeCell(this.#group, this.record.pid);
    return findCommand(this.#group, execId);
  }

  endProcesses(keepExecs: readonly string[]): Promise<number> {
    return endProcesses(this.#group, this.record.pid, keepExecs);
  }

  attachLayer(layer: LayerMount, from: string, at: string): Promise<void> {
    const { pid, startTime } = this.record;
    return this.#context.spawner.call('attachLayer', { pid, startTime, layer: layer.path, from, at });
  }

  detachLayer(at: string): Promise<void> {
    const { pid, startTime } = this.record;
    return this.#context.spawner.call('detachLayer', { pid, startTime, at });
  }

  pause(): Promise<void> {
    return freeze(this.#group, true);
  }

  resume(): Promise<void> {
    return freeze(this.#group, false);
  }

  async usage(): Promise<Usage> {
    return readUsage(this.#group, this.record.limits, `${this.#context.qgroups}/0_${this.record.subvolume}`);
  }

  counters(): Counters {
    return readCounters(this.#group);
  }

  changes(): ReturnType<CellHandle['changes']> {
    const { id, layers, slot } = this.record;
    return this.#context.spawner.stream('changes', {
      upper: `${paths.cell(this.#context.place.runDir, id)}/upper`,
      layers,
      idShift: idBase(slot),
    });
  }

  async exportChanges({ live } = { live: false }): ReturnType<CellHandle['exportChanges']> {
    const { id, slot } = this.record;
    const idShift = idBase(slot);
    if (live)
      return { upperDir: `${paths.cell(this.#context.place.runDir, id)}/upper`, idShift, release: async () => {} };
    const snapshot = await this.snapshotScratch(`export-${id}-${++this.#exports}`);
    return {
      upperDir: `${snapshot}/upper`,
      idShift,
      release: () => this.dropSnapshot(snapshot),
    };
  }

  async snapshotScratch(name: string): Promise<string> {
    const { spawner, place, snapshots } = this.#context;
    const path = `${paths.snapshots(place.runDir)}/${snapshotName(name, this.record.slot)}`;
    snapshots.add(path);
    try {
      await spawner.call('snapshotCell', { place, id: this.record.id, path });
    } catch (error) {
      snapshots.delete(path);
      throw error;
    }
    return path;
  }

  async dropSnapshot(path: string): Promise<void> {
    const { spawner, place, snapshots } = this.#context;
    await spawner.call('dropSnapshot', { place, path });
    snapshots.delete(path);
  }

  async stop(): Promise<void> {
    const { spawner, place } = this.#context;
    await spawner.callAgain('stopCell', { place: { ...place, hierarchy: this.record.hierarchy }, id: this.record.id });
    this.#end({ reason: 'stopped' });
  }

  /** Its PID 1 is about to be ended by us: nobody needs to look for that. */
  retire(): void {
    this.#retired = true;
    this.#end({ reason: 'renewed' });
  }

  destroy(): Promise<void> {
    this.#destroyed ??= this.#destroy().catch((error) => {
      this.#destroyed = undefined;
      throw error;
    });
    return this.#destroyed;
  }

  async #destroy(): Promise<void> {
    const { spawner, place, onDestroyed } = this.#context;
    await spawner.callAgain('destroyCell', {
      place: { ...place, hierarchy: this.record.hierarchy },
      id: this.record.id,
    });
    this.#end({ reason: 'destroyed' });
    onDestroyed();
  }

  #isAlive(): boolean {
    return isAlive(this.record.pid, this.record.startTime);
  }

  /** The stream ends a moment before the process does. If it lives on, only the stream broke. */
  #watchEnd(waitMs: number): void {
    if (this.#retired) return;
    if (!this.#isAlive()) this.#end({ reason: 'PID 1 ended' });
    else if (waitMs <= END_POLL_LAST_MS) setTimeout(() => this.#watchEnd(waitMs * 2), waitMs).unref();
  }
}
