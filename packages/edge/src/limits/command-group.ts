import { existsSync, mkdirSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { VivError } from '@vivarium/protocol';
import type { CommandGroup } from '../drivers/driver.ts';
import { type CellGroup, listTree, removeTree, write } from './cell-group.ts';
import { DyingProcesses } from './dying-processes.ts';
import { isFrozen, setFrozen } from './freezer.ts';
import { findByGuestPid, moveProcess, signalQuietly } from './process-move.ts';

/** Killing is given up after this: a process in an uninterruptible wait ends later, by the same signal. */
const KILL_DEADLINE_MS = 10_000;
const WAIT_MS_MAX = 50;
/** How long a freeze may take before the processes listed so far are signalled all the same. */
const FREEZE_WAIT_MS = 200;
const SIGKILL = 9;
/** The group of one command: a child of the cell's (v2), of the cell's in the freezer hierarchy (v1). */
export class CgroupCommand implements CommandGroup {
  readonly #cell: CellGroup;
  readonly #dir: string;

  constructor(cell: CellGroup, execId: string) {
    this.#cell = cell;
    this.#dir = commandDir(cell, execId);
  }

  async kill(): Promise<void> {
    const deadline = Date.now() + KILL_DEADLINE_MS;
    const killed = new DyingProcesses();
    for (let waitMs = 1; Date.now() <= deadline; waitMs = Math.min(waitMs * 2, WAIT_MS_MAX)) {
      if (this.#cell.version === 2) this.#killV2(killed);
      else await this.#killFrozen(killed);
      if (await this.populated()) await sleep(waitMs);
      if (!(await this.populated())) break;
    }
    await killed.gone(deadline);
  }

  async signal(signal: number): Promise<void> {
    for (const pid of listTree(this.#dir)) signalQuietly(pid, signal);
  }

  async populated(): Promise<boolean> {
    return listTree(this.#dir).length > 0;
  }

  async release(): Promise<void> {
    for (let round = 0; round < 100; round++) {
      if (removeTree(this.#dir)) return;
      const pids = listTree(this.#dir);
      if (pids.length === 0) await sleep(1);
      for (const pid of pids) await moveProcess(this.#cell.processDir, pid);
    }
    throw new VivError('internal', `the control group ${this.#dir} could not be removed`);
  }

  #killV2(killed: DyingProcesses): void {
    for (const pid of listTree(this.#dir)) killed.add(pid);
    try {
      write(`${this.#dir}/cgroup.kill`, '1');
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    }
  }

  /** Nothing in a frozen group can fork, so the list is whole; the signal acts as soon as it thaws. */
  async #killFrozen(killed: DyingProcesses): Promise<void> {
    setFrozen(this.#dir, 1, true);
    const until = Date.now() + FREEZE_WAIT_MS;
    while (!isFrozen(this.#dir, 1) && Date.now() < until) await sleep(1);
    for (const pid of listTree(this.#dir)) {
      killed.add(pid);
      signalQuietly(pid, SIGKILL);
    }
    setFrozen(this.#dir, 1, false);
  }
}

/** Makes the group of a command and moves the waiting child, known by its pid inside, into it. */
export async function placeCommand(
  cell: CellGroup,
  initPid: number,
  execId: string,
  guestPid: number,
): Promise<CgroupCommand> {
  const pid = findByGuestPid(cell, initPid, guestPid);
  mkdirSync(commandDir(cell, execId), { recursive: true });
  if (pid !== undefined) await moveProcess(commandDir(cell, execId), pid);
  return new CgroupCommand(cell, execId);
}

/** The group of a command, if it is still there; thawed, for a process of ours may have died while it killed what is in it. */
export function findCommand(cell: CellGroup, execId: string): CgroupCommand | null {
  if (!existsSync(commandDir(cell, execId))) return null;
  if (cell.version === 1) setFrozen(commandDir(cell, execId), 1, false);
  return new CgroupCommand(cell, execId);
}

/** Where the processes of a command are. */
export function commandDir(cell: CellGroup, execId: string): string {
  if (!/^[A-Za-z0-9_-]{1,64}$/.test(execId)) throw new VivError('internal', `no id of an exec: ${execId}`);
  return `${cell.processDir}/c-${execId}`;
}
