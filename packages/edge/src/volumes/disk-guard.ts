import type { EdgeContext } from '../lifecycle/context.ts';

const MIB = 1_048_576;
const EVERY_MS = 500;
/** With less disk than this volumes stop growing; with more than that they may again. */
const LOW_BYTES = 512 * MIB;
const HIGH_BYTES = 1024 * MIB;

/**
 * Keeps the disk from running full under the file system of volumes, which would fail then, for all: sandboxes write there without asking
 * us. While the disk is nearly full each volume may hold what it holds and no more, so programs inside meet their quota (EDQUOT), and what
 * they remove can be written anew.
 */
export class DiskGuard {
  readonly #context: EdgeContext;
  /** Null: nobody knows what a former process left. */
  #held: boolean | null = null;
  #armed = false;

  constructor(context: EdgeContext) {
    this.#context = context;
  }

  /** From now on, as long as there are volumes. */
  arm(): void {
    if (this.#armed) return;
    this.#armed = true;
    this.#watch();
  }

  #watch(): void {
    const { closed, clock, registry, volumeDisk, log } = this.#context;
    if (closed || volumeDisk.trouble !== null || registry.volumes.all().length === 0) {
      this.#armed = false;
      return;
    }
    void this.#look()
      .catch((err) => log.error({ err }, 'the limits of volumes could not be changed'))
      .finally(() => clock.after(EVERY_MS, () => this.#watch()));
  }

  async #look(): Promise<void> {
    const { volumeDisk, registry, log } = this.#context;
    const room = volumeDisk.diskBytes();
    const hold = room < LOW_BYTES ? true : room > HIGH_BYTES ? false : (this.#held ?? false);
    if (hold === this.#held) return;
    const rows = registry.volumes.all().filter(({ state }) => state === 'ready');
    const limitOf = (id: string, sizeMiB: number) => (hold ? volumeDisk.usedBytes(id) : sizeMiB * MIB);
    await volumeDisk.limit(new Map(rows.map(({ id, sizeMiB }) => [id, limitOf(id, sizeMiB)])));
    if (hold || this.#held)
      log.warn({ freeBytes: room, hold }, 'the disk is nearly full: whether volumes may grow has changed');
    this.#held = hold;
  }
}
