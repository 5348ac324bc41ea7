import type { ProcessExit } from './cell-process.ts';
import { readOffset, violation } from './frame.ts';

const CODE_MAX = 255;
/** Linux has 64 signals; 7 bits of a wait status hold one. */
const SIGNAL_MAX = 127;

/** EXITED: kind u32, code u32, utimeUs u64, stimeUs u64, maxRssKiB u64. */
export function parseExit(payload: Buffer): ProcessExit {
  const kind = payload.readUInt32LE(0);
  const code = payload.readUInt32LE(4);
  if (kind > 1 || code > (kind === 0 ? CODE_MAX : SIGNAL_MAX))
    throw violation(`exit of kind ${kind} with code ${code}`);
  return {
    kind: kind === 0 ? 'exited' : 'signaled',
    code,
    utimeUs: readOffset(payload, 8),
    stimeUs: readOffset(payload, 16),
    maxRssKiB: readOffset(payload, 24),
  };
}
