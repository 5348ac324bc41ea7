import type { Writable } from 'node:stream';

/**
 * Resolves when more may be written, or nobody takes any more. `once` for each of the two would leave one listener behind every time, for as
 * long as the stream lives.
 */
export function drained(stream: Pick<Writable, 'on' | 'off'>): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      stream.off('drain', done).off('close', done);
      resolve();
    };
    stream.on('drain', done).on('close', done);
  });
}
