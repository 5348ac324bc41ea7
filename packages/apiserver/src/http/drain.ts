import type { IncomingMessage } from 'node:http';

/** A body that nobody wants any more is read and dropped up to here, so that the client gets to read why. */
const DRAIN_BYTES_MAX = 64 * 1024 * 1024;
const DRAIN_MS_MAX = 5_000;

/** Takes the rest of a body away from whoever read it. `done` is called when it has all come; a longer one breaks the connection. */
export function drain(req: IncomingMessage, done: () => void = () => {}): void {
  let left = DRAIN_BYTES_MAX;
  const timer = setTimeout(() => req.destroy(), DRAIN_MS_MAX);
  timer.unref();
  req.removeAllListeners('data');
  req.on('data', (chunk: Buffer) => {
    left -= chunk.length;
    if (left < 0) req.destroy();
  });
  const over = (): void => {
    clearTimeout(timer);
    done();
  };
  req.once('end', over);
  req.once('close', over);
  req.on('error', () => {});
  req.resume();
}
