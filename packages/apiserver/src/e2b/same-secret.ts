import { createHash, timingSafeEqual } from 'node:crypto';

/** Equal, told in the same time whatever part differs. */
export function sameSecret(given: string, expected: string): boolean {
  return timingSafeEqual(digest(given), digest(expected));
}

const digest = (text: string) => createHash('sha256').update(text).digest();
