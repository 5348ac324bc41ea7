import { BLOCK, SLOT } from './format.ts';

/** Room at the end of blocks that later, smaller pieces may still fill. */
const GAPS_MAX = 64;

/**
 * Gives inodes, with what stands behind them, their places: a piece that fits into a block lies within one, as a file's last bytes
 * beside its inode must. The order of calls alone decides the places.
 */
export class Slots {
  #end: number;
  readonly #gaps: { at: number; free: number }[] = [];

  constructor(start: number) {
    this.#end = align(start, SLOT);
  }

  /** Behind the last piece. */
  get end(): number {
    return this.#end;
  }

  take(bytes: number): number {
    const size = align(bytes, SLOT);
    const gap = this.#bestGap(size);
    if (gap) {
      const { at } = gap;
      gap.at += size;
      gap.free -= size;
      return at;
    }
    const left = align(this.#end, BLOCK) - this.#end;
    if (size > left) this.#nextBlock(left);
    const at = this.#end;
    this.#end += size;
    return at;
  }

  #nextBlock(left: number): void {
    if (left >= SLOT) this.#gaps.push({ at: this.#end, free: left });
    this.#end += left;
    if (this.#gaps.length <= GAPS_MAX) return;
    const smallest = this.#gaps.reduce((a, b) => (b.free < a.free ? b : a));
    this.#gaps.splice(this.#gaps.indexOf(smallest), 1);
  }

  #bestGap(size: number): { at: number; free: number } | undefined {
    let best: { at: number; free: number } | undefined;
    for (const gap of this.#gaps) if (gap.free >= size && (!best || gap.free < best.free)) best = gap;
    return best;
  }
}

export function align(value: number, to: number): number {
  return Math.ceil(value / to) * to;
}
