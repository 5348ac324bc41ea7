export {
  CHAIN_START,
  type ChainHead,
  canonicalJson,
  chainRecord,
  EMPTY_CHAIN,
  recordHash,
  verifyChain,
  verifyNext,
} from './chain.ts';
export { type Cancel, type Clock, isoTime, systemClock } from './clock.ts';
export { decodeCursor, encodeCursor, pageOf } from './cursor.ts';
export { type Deadline, Deadlines } from './deadlines.ts';
export { FakeClock } from './fake-clock.ts';
export { createIdSource, idTime } from './id.ts';
export { holdClaim, type LeaseClaim, leaseState, newClaim, releaseClaim, renewClaim, restartClaim } from './lease.ts';
export { type Random, seededRandom, systemRandom } from './random.ts';
export { canStep, checkStep, isFinal, isLive, TRANSITIONS } from './sandbox-state.ts';
