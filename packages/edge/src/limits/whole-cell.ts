import type { CommandGroup } from '../drivers/driver.ts';
import { type CellGroup, listTree } from './cell-group.ts';
import { endProcesses } from './cell-sweep.ts';
import { signalQuietly } from './process-move.ts';

/**
 * The group of the only command of a cell: all its processes but PID 1. Nothing has to be made or moved for it, which
 * would wait for an RCU grace period (some 6 ms when the machine is idle).
 */
export class WholeCell implements CommandGroup {
  readonly #cell: CellGroup;
  readonly #initPid: number;

  constructor(cell: CellGroup, initPid: number) {
    this.#cell = cell;
    this.#initPid = initPid;
  }

  async kill(): Promise<void> {
    await endProcesses(this.#cell, this.#initPid, []);
  }

  async signal(signal: number): Promise<void> {
    for (const pid of this.#pids()) signalQuietly(pid, signal);
  }

  async populated(): Promise<boolean> {
    return this.#pids().length > 0;
  }

  async release(): Promise<void> {}

  #pids(): number[] {
    return listTree(this.#cell.processDir).filter((pid) => pid !== this.#initPid);
  }
}
