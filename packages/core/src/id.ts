import type { Clock } from './clock.ts';
import type { Random } from './random.ts';

const ALPHABET = '0123456789abcdefghijklmnopqrstuvwxyz';
/** 36^9 ms reach to the year 5188. */
const TIME_DIGITS = 9;
const RANDOM_DIGITS = 11;

/** Makes ids `[a-z0-9]{20}` that sort by time of making; strictly increasing within one source, also when the clock steps back. */
export function createIdSource(clock: Clock, random: Random): () => string {
  let lastMs = 0;
  let tail: number[] = [];
  return () => {
    const now = clock.now();
    if (now > lastMs) {
      lastMs = now;
      tail = randomDigits(random);
    } else if (!increment(tail)) {
      lastMs += 1;
      tail = randomDigits(random);
    }
    return timeDigits(lastMs) + tail.map((digit) => ALPHABET[digit]).join('');
  };
}

/** When an id was made, in milliseconds since the epoch. */
export function idTime(id: string): number {
  return Number.parseInt(id.slice(0, TIME_DIGITS), 36);
}

function timeDigits(ms: number): string {
  return ms.toString(36).padStart(TIME_DIGITS, '0');
}

/** The first digit stays below the middle, so that counting up within one millisecond has room. */
function randomDigits(random: Random): number[] {
  const digits = Array.from(random.bytes(RANDOM_DIGITS), (byte) => byte % 36);
  digits[0] = digits[0]! % 18;
  return digits;
}

function increment(digits: number[]): boolean {
  for (let i = digits.length - 1; i >= 0; i--) {
    if (digits[i]! < 35) {
      digits[i]! += 1;
      return true;
    }
    digits[i] = 0;
  }
  return false;
}
