import type { Stats } from '@vivarium/protocol';

/** 1.5 KiB a sandbox: thousands of them exist. */
const SAMPLES_MAX = 28;

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

const EXACT_BYTES = (EXACT.length + 1) * Float64Array.BYTES_PER_ELEMENT;

export type Sample = { atMs: number } & Record<(typeof EXACT)[number] | (typeof ROUGH)[number], number>;
/** What no sample has, for it doesn't change. */
export type Ceilings = Pick<Stats, 'memoryLimitBytes' | 'pidsLimit' | 'diskLimitBytes'>;

/**
 * What was measured of one sandbox, oldest first, packed. When it is full, every second sample of the older half goes: the last minutes are
 * there as they were measured, and the further back, the rarer, down to the first sample.
 */
export class StatsHistory {
  #count = 0;
  /** First the exact numbers of all samples, then the rough ones. In one piece, made once: growing ones leave holes in the heap of malloc. */
  readonly #buffer = new ArrayBuffer(SAMPLES_MAX * (EXACT_BYTES + ROUGH.length * Float32Array.BYTES_PER_ELEMENT));

  get size(): number {
    return this.#count;
  }

  /** When the last one was taken; before all time when there is none. */
  get lastMs(): number {
    return this.#count === 0 ? Number.NEGATIVE_INFINITY : this.#exactOf(this.#count - 1)[0]!;
  }

  add(sample: Sample): void {
    if (this.#count === SAMPLES_MAX) this.#thin();
    const at = this.#count++;
    const exact = this.#exactOf(at);
    exact[0] = sample.atMs;
    for (const [i, name] of EXACT.entries()) exact[1 + i] = sample[name];
    const rough = this.#roughOf(at);
    for (const [i, name] of ROUGH.entries()) rough[i] = sample[name];
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
    const [exact, rough] = [this.#exactOf(at), this.#roughOf(at)];
    const sample = { atMs: exact[0]! } as Sample;
    for (const [i, name] of EXACT.entries()) sample[name] = exact[1 + i]!;
    for (const [i, name] of ROUGH.entries()) sample[name] = rough[i]!;
    return sample;
  }

  #thin(): void {
    const half = SAMPLES_MAX / 2;
    let kept = 0;
    for (let at = 0; at < SAMPLES_MAX; at++) {
      if (at < half && at % 2 === 1) continue;
      this.#exactOf(kept).set(this.#exactOf(at));
      this.#roughOf(kept).set(this.#roughOf(at));
      kept++;
    }
    this.#count = kept;
  }

  #exactOf(at: number): Float64Array {
    return new Float64Array(this.#buffer, at * EXACT_BYTES, EXACT.length + 1);
  }

  #roughOf(at: number): Float32Array {
    const bytes = ROUGH.length * Float32Array.BYTES_PER_ELEMENT;
    return new Float32Array(this.#buffer, SAMPLES_MAX * EXACT_BYTES + at * bytes, ROUGH.length);
  }
}

/** As the API shows it. */
export function toStats({ atMs, ...used }: Sample, ceilings: Ceilings): Stats {
  return { at: new Date(atMs).toISOString(), ...used, cpuWantedUs: used.cpuUsageUs + used.cpuThrottledUs, ...ceilings };
}
