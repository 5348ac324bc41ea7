import type { Vivarium } from '@vivarium/sdk';
import { type Work, workOf } from './work.ts';

const LIMITS = { memoryMiB: 512, pids: 128, diskMiB: 256 };
const WORK_LIMIT_MS = 60_000;
const BAR_WIDTH = 32;

export type Failure = { sandbox: number; step: string; reason: string };

/** Runs the demo's sandboxes, a few at once, with live progress on stderr, and keeps what the result table needs. */
export class Fleet {
  readonly failures: Failure[] = [];
  /** Durations in ms by step. */
  readonly steps = new Map<string, number[]>();
  right = 0;
  #done = 0;
  #live = 0;
  readonly #viv: Vivarium;
  readonly #image: string;

  constructor(viv: Vivarium, image: string) {
    this.#viv = viv;
    this.#image = image;
  }

  async run(count: number, atOnce: number): Promise<void> {
    let next = 0;
    const lane = async () => {
      while (next < count) {
        const n = next;
        next += 1;
        await this.#one(n);
        this.#done += 1;
        this.#progress(count);
      }
    };
    await Promise.all(Array.from({ length: Math.min(atOnce, count) }, lane));
    if (process.stderr.isTTY) process.stderr.write('\n');
  }

  async #one(n: number): Promise<void> {
    let step = 'create';
    try {
      const sandbox = await this.#timed(step, () =>
        this.#viv.sandboxes.create({ image: this.#image, labels: { demo: String(n) }, limits: LIMITS, ttlS: 600 }),
      );
      this.#live += 1;
      try {
        for (const work of workOf(n)) {
          step = work.name;
          await this.#timed(step, () => perform(sandbox, work));
        }
      } finally {
        step = 'end';
        await this.#timed(step, () => sandbox.kill());
        this.#live -= 1;
      }
      this.right += 1;
    } catch (error) {
      this.failures.push({ sandbox: n, step, reason: (error as Error).message });
    }
  }

  async #timed<T>(step: string, action: () => Promise<T>): Promise<T> {
    const started = performance.now();
    const result = await action();
    const durations = this.steps.get(step) ?? [];
    durations.push(performance.now() - started);
    this.steps.set(step, durations);
    return result;
  }

  /** One line that is written over on a terminal, a line per eighth elsewhere. */
  #progress(count: number): void {
    const filled = Math.round((this.#done / count) * BAR_WIDTH);
    const bar = `${'█'.repeat(filled)}${'·'.repeat(BAR_WIDTH - filled)}`;
    const text = `${bar} ${this.#done}/${count} done, ${this.right} right, ${this.#live} live`;
    if (process.stderr.isTTY) process.stderr.write(`\r${text}   `);
    else if (this.#done % Math.max(1, Math.floor(count / 8)) === 0) process.stderr.write(`${text}\n`);
  }
}

async function perform(sandbox: Awaited<ReturnType<Vivarium['sandboxes']['create']>>, work: Work): Promise<void> {
  for (const [path, content] of Object.entries(work.files)) await sandbox.files.write(path, content);
  const result = await sandbox.exec(work.argv, { env: work.env ?? {}, timeoutMs: WORK_LIMIT_MS });
  if (result.exitCode === 0 && work.expected.test(result.stdout)) return;
  const said = `${result.stdout}${result.stderr}`.slice(0, 500);
  throw new Error(`exit code ${result.exitCode} (${result.outcome.type}), printed: ${said}`);
}
