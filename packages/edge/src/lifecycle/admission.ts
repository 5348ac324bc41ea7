import { readFileSync, statfsSync } from 'node:fs';
import { type SandboxCreate, VivError } from '@vivarium/protocol';
import type { Owner } from '../edge.ts';
import type { EdgeContext } from './context.ts';

/** Free disk and memory are looked at no more often than this. */
const LOOK_EVERY_MS = 500;

export type Room = { freeDiskBytes: number; availableMemoryBytes: number };

/** Decides whether this node takes one more sandbox (or `count`), before anything is made. */
export class Admission {
  readonly #context: EdgeContext;
  readonly #look: (stateDir: string) => Room;
  #room: Room | null = null;
  #lookedMs = Number.NEGATIVE_INFINITY;

  constructor(context: EdgeContext, look: (stateDir: string) => Room = lookAround) {
    this.#context = context;
    this.#look = look;
  }

  /** Throws `shutting_down`, `quota_exceeded`, `node_full`, `node_disk_full` or `too_many_requests`. */
  check(owner: Owner, count = 1): void {
    const { limits, boxes, draining, createGate } = this.#context;
    if (draining) throw new VivError('shutting_down', 'the node is stopping and takes no new sandboxes');
    this.#checkQuota(owner, count);
    if (boxes.size + count > limits.sandboxes) {
      throw new VivError('node_full', `the node holds ${boxes.size} sandboxes, its maximum is ${limits.sandboxes}`, {
        details: { maximum: limits.sandboxes },
      });
    }
    this.#checkRoom();
    createGate.check();
  }

  /** Of a create: also throws `unsupported` (its kind) and `lease_not_found`. */
  admit(request: SandboxCreate, owner: Owner): void {
    const { drivers, registry } = this.#context;
    if (!drivers.has(request.kind)) {
      throw new VivError(
        'unsupported',
        `this node has no ${request.kind} sandboxes, only: ${[...drivers.keys()].join(', ')}`,
        { details: { kind: request.kind } },
      );
    }
    if (request.lease !== undefined && !registry.leases.has(request.lease)) {
      throw new VivError('lease_not_found', `there is no lease ${request.lease}`, { details: { id: request.lease } });
    }
    this.check(owner);
  }

  #checkQuota(owner: Owner, count: number): void {
    if (owner.maxSandboxes === null) return;
    let live = 0;
    for (const box of this.#context.boxes.values()) if (box.row.keyId === owner.keyId && !box.row.builder) live += 1;
    if (live + count <= owner.maxSandboxes) return;
    throw new VivError('quota_exceeded', `this key has ${live} live sandboxes, its maximum is ${owner.maxSandboxes}`, {
      details: { live, maximum: owner.maxSandboxes },
    });
  }

  #checkRoom(): void {
    const { clock, limits, stateDir } = this.#context;
    const now = clock.monotonicMs();
    if (!this.#room || now - this.#lookedMs > LOOK_EVERY_MS) {
      this.#room = this.#look(stateDir);
      this.#lookedMs = now;
    }
    const { freeDiskBytes, availableMemoryBytes } = this.#room;
    if (freeDiskBytes < limits.minFreeDiskBytes) {
      throw new VivError(
        'node_disk_full',
        `the state directory has ${mib(freeDiskBytes)} MiB free, creates need ${mib(limits.minFreeDiskBytes)} MiB`,
        {
          details: { freeBytes: freeDiskBytes, neededBytes: limits.minFreeDiskBytes },
        },
      );
    }
    if (availableMemoryBytes < limits.minFreeMemoryBytes) {
      throw new VivError(
        'node_full',
        `the node has ${mib(availableMemoryBytes)} MiB of memory left, creates need ${mib(limits.minFreeMemoryBytes)} MiB`,
        {
          details: { availableBytes: availableMemoryBytes, neededBytes: limits.minFreeMemoryBytes },
        },
      );
    }
  }
}

/** Free space for a non-root writer of the file system (statfs(2)) and MemAvailable (proc_meminfo(5)). */
export function lookAround(stateDir: string): Room {
  const { bavail, bsize } = statfsSync(stateDir);
  return { freeDiskBytes: bavail * bsize, availableMemoryBytes: memoryBytes('MemAvailable') };
}

/** A line of /proc/meminfo, in bytes. */
export function memoryBytes(name: string): number {
  const match = new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(readFileSync('/proc/meminfo', 'utf8'));
  return match ? Number(match[1]) * 1024 : 0;
}

function mib(bytes: number): number {
  return Math.floor(bytes / 1_048_576);
}
