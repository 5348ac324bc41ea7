import type { Cancel } from '@vivarium/core';
import { type Stats, VivError } from '@vivarium/protocol';
import type { Box } from '../lifecycle/box.ts';
import type { EdgeContext } from '../lifecycle/context.ts';
import { type Ceilings, type Sample, StatsHistory, toStats } from './stats-history.ts';

/** A sandbox is measured no more often. */
const EVERY_MS = 5000;
/**
 * And all together: 48 samples a second, in small portions, since a sample reads some ten control files (0.1 ms of CPU, twice that on a
 * busy machine). With more than 240 sandboxes each gets its turn more rarely.
 */
const TICK_MS = 125;
const PER_TICK = 6;

/** Measures every running sandbox now and then, at a cost that does not grow with their number. */
export class Sampler {
  readonly #context: EdgeContext;
  /** Those that began to run: they come first. */
  #fresh: Box[] = [];
  #turn: Iterator<Box> = [].values();
  #cancel: Cancel | null = null;
  #dueMs = Number.POSITIVE_INFINITY;

  constructor(context: EdgeContext) {
    this.#context = context;
  }

  /** It runs, or runs again. */
  add(box: Box): void {
    this.#fresh.push(box);
    this.#arm(TICK_MS);
  }

  #arm(ms: number): void {
    const { clock } = this.#context;
    const dueMs = clock.monotonicMs() + ms;
    if (this.#cancel && this.#dueMs <= dueMs) return;
    this.#cancel?.();
    this.#dueMs = dueMs;
    this.#cancel = clock.after(ms, () => {
      this.#cancel = null;
      if (!this.#context.closed) this.#tick();
    });
  }

  #tick(): void {
    let left = PER_TICK - this.#sampleFresh();
    const { boxes, clock } = this.#context;
    const now = clock.now();
    let nextMs = this.#fresh.length > 0 ? TICK_MS : EVERY_MS;
    for (let seen = 0; left > 0 && seen < boxes.size; seen++) {
      const box = this.#next();
      if (!box || !canMeasure(box)) continue;
      const waitMs = (box.history?.lastMs ?? now) + EVERY_MS - now;
      // A clock that was set back is no reason to wait for it.
      if (waitMs > 0 && waitMs <= EVERY_MS) {
        nextMs = Math.min(nextMs, waitMs);
        continue;
      }
      void this.#sample(box);
      left -= 1;
    }
    if (left === 0) this.#arm(TICK_MS);
    else if (boxes.size > 0) this.#arm(Math.max(TICK_MS, nextMs));
  }

  /** Returns how many it took. Those that are about to run wait. */
  #sampleFresh(): number {
    const soon: Box[] = [];
    let taken = 0;
    let looked = 0;
    for (const box of this.#fresh) {
      if (taken === PER_TICK) break;
      looked += 1;
      const { state } = box.row;
      if (state === 'creating' || state === 'resuming') soon.push(box);
      else if (canMeasure(box)) {
        void this.#sample(box);
        taken += 1;
      }
    }
    this.#fresh.splice(0, looked, ...soon);
    return taken;
  }

  /** Round and round; what comes meanwhile is met at the end of the round. */
  #next(): Box | undefined {
    const next = this.#turn.next();
    if (!next.done) return next.value;
    this.#turn = this.#context.boxes.values();
    return this.#turn.next().value;
  }

  /** One that ends meanwhile is not worth a word. */
  async #sample(box: Box): Promise<void> {
    await sampleBox(box).catch((err) =>
      this.#context.log.debug({ err, sandbox: box.id }, 'a sandbox was not measured'),
    );
  }
}

/** What it uses now. Throws `state_conflict` when it has no cell yet. */
export async function measureBox(box: Box): Promise<Stats> {
  return toStats(await measure(box), ceilingsOf(box));
}

/** What was measured of it between two times. One that nobody looked at for some seconds is measured now. */
export async function historyOf(box: Box, fromMs: number, toMs: number): Promise<Stats[]> {
  const now = box.context.clock.now();
  const sinceMs = Math.abs(now - (box.history?.lastMs ?? Number.NEGATIVE_INFINITY));
  if (canMeasure(box) && sinceMs >= EVERY_MS && fromMs <= now && now <= toMs) await sampleBox(box);
  return box.history?.between(fromMs, toMs, ceilingsOf(box)) ?? [];
}

async function sampleBox(box: Box): Promise<void> {
  const sample = await measure(box);
  box.history ??= new StatsHistory();
  box.history.add(sample);
}

async function measure(box: Box): Promise<Sample> {
  const { handle, id, row } = box;
  if (!handle) throw new VivError('state_conflict', `sandbox ${id} is ${row.state}`, { details: { id } });
  const { memoryLimitBytes: _m, pidsLimit: _p, diskLimitBytes: _d, pidsDenied: _n, ...usage } = await handle.usage();
  return { atMs: box.context.clock.now(), ...usage, execsRunning: box.execs.size, execsTotal: box.execsTotal };
}

function canMeasure(box: Box): boolean {
  return box.row.state === 'running' && box.handle !== null;
}

const MIB = 1_048_576;

function ceilingsOf({ row: { limits } }: Box): Ceilings {
  return {
    memoryLimitBytes: limits.memoryMiB * MIB,
    pidsLimit: limits.pids,
    diskLimitBytes: limits.diskMiB * MIB,
  };
}
