import type { Stats } from '@vivarium/protocol';

/** A few KiB a sandbox at most: thousands of them exist. */
const SAMPLES_MAX = 32;
const SAMPLES_FIRST = 4;

/** Kept to the last digit. */
const EXACT = ['cpuUsageUs', 'cpuThrottledUs'] as const;
/** Kept to seven digits; counts below 2^24 and whole pages of up to 64 GiB are exact so, too. */
const ROUGH = [
  'memoryBytes',
  'memoryPeakBytes',
  'memoryCacheBytes',
  'diskBytes',
  'oomKills',
  'pids',
  'execsRunning',
  'execsTotal',
] as const;

export type Sample = { atMs: number } & Record<(typeof EXACT)[number] | (typeof ROUGH)[number], number>;
/** What no sample has, for it doesn't change. */
export type Ceilings = Pick<Stats, 'memoryLimitBytes' | 'pidsLimit' | 'diskLimitBytes'>;

/**
 * What was measured of one sandbox, oldest first, packed. When it is full, every second sample of the older half goes: the last minutes are
 * there as they were measured, and the further back, the rarer, down to the first sample.
 */
export class StatsHistory {
  #count = 0;
  #exact = new Float64Array(SAMPLES_FIRST * (EXACT.length + 1));
  #rough = new Float32Array(SAMPLES_FIRST * ROUGH.length);

  get size(): number {
    return this.#count;
  }

  /** When the last one was taken; before all time when there is none. */
  get lastMs(): number {
    return this.#count === 0 ? Number.NEGATIVE_INFINITY : this.#exact[(this.#count - 1) * (EXACT.length + 1)]!;
  }

  add(sample: Sample): void {
    if (this.#count === SAMPLES_MAX) this.#thin();
    else if (this.#count * ROUGH.length === this.#rough.length) this.#grow();
    const at = this.#count++;
    const exact = at * (EXACT.length + 1);
    this.#exact[exact] = sample.atMs;
    for (const [i, name] of EXACT.entries()) this.#exact[exact + 1 + i] = sample[name];
    for (const [i, name] of ROUGH.entries()) this.#rough[at * ROUGH.length + i] = sample[name];
  }

  /** Samples between two times, both included. */
  between(fromMs: number, toMs: number, ceilings: Ceilings): Stats[] {
    const found: Stats[] = [];
    for (let at = 0; at < this.#count; at++) {
      const sample = this.#read(at);
      if (sample.atMs >= fromMs && sample.atMs <= toMs) found.push(toStats(sample, ceilings));
    }
    return found;
  }

  #read(at: number): Sample {
    const exact = at * (EXACT.length + 1);
    const sample = { atMs: this.#exact[exact]! } as Sample;
    for (const [i, name] of EXACT.entries()) sample[name] = this.#exact[exact + 1 + i]!;
    for (const [i, name] of ROUGH.entries()) sample[name] = this.#rough[at * ROUGH.length + i]!;
    return sample;
  }

  #thin(): void {
    const half = SAMPLES_MAX / 2;
    let kept = 0;
    for (let at = 0; at < SAMPLES_MAX; at++) {
      if (at < half && at % 2 === 1) continue;
      move(this.#exact, at, kept, EXACT.length + 1);
      move(this.#rough, at, kept, ROUGH.length);
      kept++;
    }
    this.#count = kept;
  }

  #grow(): void {
    const [exact, rough] = [this.#exact, this.#rough];
    this.#exact = new Float64Array(exact.length * 2);
    this.#exact.set(exact);
    this.#rough = new Float32Array(rough.length * 2);
    this.#rough.set(rough);
  }
}

/** As the API shows it. */
export function toStats({ atMs, ...used }: Sample, ceilings: Ceilings): Stats {
  return { at: new Date(atMs).toISOString(), ...used, cpuWantedUs: used.cpuUsageUs + used.cpuThrottledUs, ...ceilings };
}

function move(array: Float64Array | Float32Array, from: number, to: number, width: number): void {
  array.copyWithin(to * width, from * width, (from + 1) * width);
}
