import { VivError } from '@vivarium/protocol';

/** Ids of one cell: 0 … 65,535 inside, on the host from its base on. Far from ids that people and other tools use. */
export const ID_COUNT = 65_536;
const FIRST_BASE = 0x40000000;
/**
 * One more than the ids of a cell. The kernel looks its users up in 128 chains, by the sum of two fields of seven bits
 * of the id (kernel/user.c, __uidhashfn): with bases a multiple of 65,536 apart, all cells would be in one chain, and
 * every setuid walked through it with interrupts off (about 2 ms beside 5,500 cells).
 */
const BASE_DISTANCE = ID_COUNT + 1;
/** All ids stay below 2^31: some programs take larger ones for negative. */
export const SLOTS_MAX = 16_383;

/** First host id of a slot. */
export function idBase(slot: number): number {
  return FIRST_BASE + slot * BASE_DISTANCE;
}

/**
 * Hands out id ranges. A range may be shared: a fork keeps its parent's, since its files carry those ids
 * (docs/adr/0010). The lowest free one is taken, so that ranges are reused.
 */
export class IdRanges {
  readonly #users = new Map<number, number>();
  #searchFrom = 0;

  /** A range that nobody else has. Throws VivError `node_full`. */
  take(): number {
    for (let slot = this.#searchFrom; slot < SLOTS_MAX; slot++) {
      if (this.#users.has(slot)) continue;
      this.#users.set(slot, 1);
      this.#searchFrom = slot + 1;
      return slot;
    }
    throw new VivError('node_full', `all ${SLOTS_MAX} id ranges are in use`);
  }

  /** One more user of a range: a fork, or a cell found again after a restart. */
  share(slot: number): void {
    if (!Number.isInteger(slot) || slot < 0 || slot >= SLOTS_MAX)
      throw new VivError('internal', `no such id range: ${slot}`);
    this.#users.set(slot, (this.#users.get(slot) ?? 0) + 1);
  }

  /** One user less. */
  release(slot: number): void {
    const users = (this.#users.get(slot) ?? 0) - 1;
    if (users > 0) {
      this.#users.set(slot, users);
      return;
    }
    this.#users.delete(slot);
    this.#searchFrom = Math.min(this.#searchFrom, slot);
  }

  get inUse(): number {
    return this.#users.size;
  }
}
