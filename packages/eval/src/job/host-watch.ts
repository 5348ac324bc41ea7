import type { NodeInfo, Vivarium } from '@vivarium/sdk';

type Pressure = NodeInfo['pressure'];
type Sample = { at: number; pressure: Pressure };

const EVERY_MS = 2_000;
/** An hour of samples; a longer trial's beginning is judged by the oldest kept. */
const SAMPLES_MAX = 1_800;

/** Looks at the node's machine every few seconds while a job runs, once for all trials. */
export class HostWatch implements Disposable {
  readonly #viv: Vivarium;
  readonly #samples: Sample[] = [];
  #timer: NodeJS.Timeout | undefined;
  #asking = false;

  constructor(viv: Vivarium) {
    this.#viv = viv;
    this.#timer = setInterval(() => void this.#ask(), EVERY_MS);
    this.#timer.unref();
  }

  async start(): Promise<this> {
    await this.#ask();
    return this;
  }

  /** The last sample before each moment (ms since the epoch); undefined while there are none, as when the node is away. */
  between(from: number, to: number): { before: Pressure; after: Pressure } | undefined {
    const before = this.#samples.findLast(({ at }) => at <= from) ?? this.#samples[0];
    const after = this.#samples.findLast(({ at }) => at <= to);
    return before && after && { before: before.pressure, after: after.pressure };
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
  }

  async #ask(): Promise<void> {
    if (this.#asking) return;
    this.#asking = true;
    try {
      const { pressure } = await this.#viv.node();
      this.#samples.push({ at: Date.now(), pressure });
      if (this.#samples.length > SAMPLES_MAX) this.#samples.shift();
    } catch {
      // The trials will notice that the node is away.
    } finally {
      this.#asking = false;
    }
  }
}
