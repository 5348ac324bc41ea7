import { randomFillSync } from 'node:crypto';

/** Randomness, injected so that a simulation replays from its seed. */
export interface Random {
  /** `length` random bytes. */
  bytes(length: number): Uint8Array;
}

/** The kernel's generator. */
export const systemRandom: Random = {
  bytes: (length) => randomFillSync(new Uint8Array(length)),
};

/** Reproducible bytes from a seed (xorshift32). For tests and simulations only: never for secrets. */
export function seededRandom(seed: number): Random {
  let state = seed | 0 || 0x9e3779b9;
  const next = () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return state & 0xff;
  };
  return { bytes: (length) => Uint8Array.from({ length }, next) };
}
