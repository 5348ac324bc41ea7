import {
  closeSync,
  promises as files,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  statSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import type { Limits } from '@vivarium/protocol';
import { CPU_PERIOD_US, CPU_WEIGHT_MAX, cpusToQuotaUs, isCpuQuotaNeeded, weightToShares } from './convert.ts';
import { mustEmpty } from './dying-groups.ts';
import type { Controller, Hierarchy } from './hierarchy.ts';

const MIB = 1024 * 1024;
/** Buffers of sockets may take this part of a sandbox's memory, beside it (v1; v2 counts them as memory). */
const SOCKETS_PART = 4;

/**
 * The control groups of one cell: its directory in each hierarchy. All calls are synchronous: on cgroupfs they cost
 * tens of microseconds, less than a trip to the thread pool.
 */
export class CellGroup {
  readonly #hierarchy: Hierarchy;
  readonly #id: string;
  #completion: Promise<void> | undefined;
  /** The distinct directories. */
  readonly dirs: readonly string[];

  constructor(hierarchy: Hierarchy, id: string) {
    this.#hierarchy = hierarchy;
    this.#id = id;
    const bases = hierarchy.version === 1 ? new Set(Object.values(hierarchy.bases)) : [hierarchy.base];
    this.dirs = [...bases].map((base) => `${base}/${id}`);
  }

  get version(): 1 | 2 {
    return this.#hierarchy.version;
  }

  /** The directory that has a controller, undefined if this machine has none. */
  dir(controller: Controller): string | undefined {
    if (this.#hierarchy.version === 2) return `${this.#hierarchy.base}/${this.#id}`;
    const base = this.#hierarchy.bases[controller];
    return base && `${base}/${this.#id}`;
  }

  /** Where the processes of the cell are listed and frozen. */
  get processDir(): string {
    return this.dir('freezer') ?? this.dirs[0]!;
  }

  create(): void {
    for (const dir of this.dirs) mkdirSync(dir, { recursive: true });
    this.hurry();
  }

  /**
   * Making and ending a cell is short work of ours that somebody waits for: until `limit`, and again at the end, it goes before all that
   * other cells do, however busy they are.
   */
  hurry(): void {
    const cpu =
      this.#hierarchy.version === 1 || this.#hierarchy.controllers.includes('cpu') ? this.dir('cpu') : undefined;
    if (!cpu) return;
    quietly(() =>
      this.version === 1
        ? write(`${cpu}/cpu.shares`, `${weightToShares(CPU_WEIGHT_MAX)}`)
        : write(`${cpu}/cpu.weight`, `${CPU_WEIGHT_MAX}`),
    );
  }

  /** Sets the limits. After crun is done, so that a tight one doesn't hinder or count crun itself. */
  limit(limits: Limits): void {
    if (this.#hierarchy.version === 1) this.#limitV1(limits);
    else this.#limitV2(limits, this.#hierarchy.controllers);
  }

  /**
   * Begins to move crun into the memory group, the one that it was not born into. That may wait for an RCU grace period
   * (some 6 ms); meanwhile crun works, and then `complete` doesn't have to wait.
   */
  prepareCompletion(crunPid: number): void {
    const memory = this.#memoryV1;
    if (memory) this.#completion = files.writeFile(`${memory}/cgroup.procs`, `${crunPid}`).catch(() => undefined);
  }

  /** Moves PID 1 after it, if it was born before that was done. */
  async complete(pid: number): Promise<void> {
    const memory = this.#memoryV1;
    if (!memory) return;
    await this.#completion;
    if (!listProcs(memory).includes(pid)) write(`${memory}/cgroup.procs`, `${pid}`);
  }

  /** The processes of the cell and of its commands. */
  pids(): number[] {
    return listTree(this.processDir);
  }

  /** Removes the directories, those of commands first. False while a process still dies in one. */
  remove(): boolean {
    const memory = this.#memoryV1;
    if (memory)
      quietly(() => {
        if (mustEmpty(memory)) write(`${memory}/memory.force_empty`, '0');
      });
    let gone = true;
    for (const dir of this.dirs) gone = removeTree(dir) && gone;
    return gone;
  }

  /** Removes the directories of commands. False while a process still dies in one. */
  removeCommands(): boolean {
    let gone = true;
    for (const dir of this.dirs) for (const child of subdirectories(dir)) gone = removeTree(child) && gone;
    return gone;
  }

  get #memoryV1(): string | undefined {
    return this.#hierarchy.version === 1 ? this.dir('memory') : undefined;
  }

  #limitV1(limits: Limits): void {
    const cpu = this.dir('cpu');
    if (cpu) write(`${cpu}/cpu.shares`, `${weightToShares(limits.cpuWeight)}`);
    // A new group's period is CPU_PERIOD_US already.
    if (cpu && isCpuQuotaNeeded(limits.cpus)) write(`${cpu}/cpu.cfs_quota_us`, `${cpusToQuotaUs(limits.cpus)}`);
    const memory = this.dir('memory')!;
    write(`${memory}/memory.limit_in_bytes`, `${limits.memoryMiB * MIB}`);
    // Without swap accounting the file is missing.
    quietly(() => write(`${memory}/memory.memsw.limit_in_bytes`, `${limits.memoryMiB * MIB}`));
    // v1 counts the buffers of TCP and UDP apart, and only if they have a limit.
    quietly(() => write(`${memory}/memory.kmem.tcp.limit_in_bytes`, `${(limits.memoryMiB * MIB) / SOCKETS_PART}`));
    write(`${this.dir('pids')!}/pids.max`, `${limits.pids}`);
  }

  #limitV2(limits: Limits, controllers: readonly string[]): void {
    const dir = this.dirs[0]!;
    if (controllers.includes('cpu')) {
      write(`${dir}/cpu.weight`, `${limits.cpuWeight}`);
      if (isCpuQuotaNeeded(limits.cpus)) write(`${dir}/cpu.max`, `${cpusToQuotaUs(limits.cpus)} ${CPU_PERIOD_US}`);
    }
    if (controllers.includes('memory')) {
      write(`${dir}/memory.max`, `${limits.memoryMiB * MIB}`);
      quietly(() => write(`${dir}/memory.swap.max`, '0'));
    }
    if (controllers.includes('pids')) write(`${dir}/pids.max`, `${limits.pids}`);
  }
}

/** One write(2) to a control file: cgroupfs takes a value whole. */
export function write(path: string, value: string): void {
  const fd = openSync(path, 'w');
  try {
    writeSync(fd, value);
  } finally {
    closeSync(fd);
  }
}

/** The processes in one directory. None when it is gone. */
export function listProcs(dir: string): number[] {
  try {
    const text = readFileSync(`${dir}/cgroup.procs`, 'utf8');
    return text === '' ? [] : text.trimEnd().split('\n').map(Number);
  } catch {
    return [];
  }
}

/** The processes in a directory and all below it. */
export function listTree(dir: string): number[] {
  return [...listProcs(dir), ...subdirectories(dir).flatMap(listTree)];
}

/** The groups below one, those of commands. */
export function listGroups(dir: string): string[] {
  return subdirectories(dir).flatMap((child) => [child, ...listGroups(child)]);
}

/** rmdir of a tree of control groups. True when it is gone. */
export function removeTree(dir: string): boolean {
  try {
    rmdirSync(dir);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return true;
  }
  for (const child of subdirectories(dir)) removeTree(child);
  try {
    rmdirSync(dir);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ENOENT';
  }
}

/** A directory's link count on cgroupfs is two plus its subdirectories: most have none, and need no listing. */
function subdirectories(dir: string): string[] {
  try {
    if (statSync(dir).nlink <= 2) return [];
    return readdirSync(dir, { withFileTypes: true })
      .filter((entry) => entry.isDirectory())
      .map((entry) => join(dir, entry.name));
  } catch {
    return [];
  }
}

function quietly(action: () => void): void {
  try {
    action();
  } catch {
    // The file is missing here or has no use any more; see the callers.
  }
}
