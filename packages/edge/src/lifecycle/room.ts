import { readFileSync, statfsSync } from 'node:fs';
import type { Clock } from '@vivarium/core';
import { VivError } from '@vivarium/protocol';
import type { EdgeContext } from './context.ts';

/** Free disk and memory are looked at no more often than this. */
const LOOK_EVERY_MS = 500;

type Room = { freeDiskBytes: number; availableMemoryBytes: number };

/** May one more cell be booted? Throws `shutting_down`, `node_full`, `node_disk_full` or `too_many_requests`. */
export function checkBoot({ draining, createGate, limits, room }: EdgeContext): void {
  if (draining) throw new VivError('shutting_down', 'the node is stopping and starts no sandboxes');
  const { freeDiskBytes, availableMemoryBytes } = room.read();
  if (freeDiskBytes < limits.minFreeDiskBytes) {
    throw new VivError(
      'node_disk_full',
      `the state directory has ${mib(freeDiskBytes)} MiB free, creates need ${mib(limits.minFreeDiskBytes)} MiB`,
      { details: { freeBytes: freeDiskBytes, neededBytes: limits.minFreeDiskBytes } },
    );
  }
  if (availableMemoryBytes < limits.minFreeMemoryBytes) {
    throw new VivError(
      'node_full',
      `the node has ${mib(availableMemoryBytes)} MiB of memory left, creates need ${mib(limits.minFreeMemoryBytes)} MiB`,
      { details: { availableBytes: availableMemoryBytes, neededBytes: limits.minFreeMemoryBytes } },
    );
  }
  createGate.check();
}

/** What the node has left, as it was a moment ago at most. */
export class RoomGauge {
  readonly #clock: Clock;
  readonly #stateDir: string;
  #room: Room | null = null;
  #lookedMs = Number.NEGATIVE_INFINITY;

  constructor(clock: Clock, stateDir: string) {
    this.#clock = clock;
    this.#stateDir = stateDir;
  }

  read(): Room {
    const now = this.#clock.monotonicMs();
    if (this.#room && now - this.#lookedMs <= LOOK_EVERY_MS) return this.#room;
    this.#room = lookAround(this.#stateDir);
    this.#lookedMs = now;
    return this.#room;
  }
}

/** Free space for a non-root writer of the file system (statfs(2)) and MemAvailable (proc_meminfo(5)). */
function lookAround(stateDir: string): Room {
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
