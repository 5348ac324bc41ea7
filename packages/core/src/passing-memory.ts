/**
 * Buffers of bytes that only pass through are garbage at once, but V8 counts them as outside memory and looks for them only
 * after 64 MiB or so, with a full collection. A young collection every few MiB costs a fraction of a millisecond, and memory stays where it is.
 */
const COLLECT_EVERY_BYTES = 8 * 1024 * 1024;

let passed = 0;
const collect = (globalThis as { gc?: (options: { type: 'minor' }) => void }).gc;

/** Called with the size of each buffer that was handed on. Does nothing unless Node runs with --expose-gc. */
export function bytesPassed(count: number): void {
  passed += count;
  if (passed < COLLECT_EVERY_BYTES) return;
  passed = 0;
  collect?.({ type: 'minor' });
}
