import type { ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';

/** Clients don't ask for a WebSocket before they have the answers to all they asked: it takes what those still need to be sent. */
const WAIT_MS = 10_000;

/** Node keeps the answer that a connection is busy with here, and makes the next one's turn of it when that is out. */
type Busy = Duplex & { _httpMessage?: ServerResponse | null; setTimeout?(ms: number): void };

/**
 * Node tells of an upgrade at once, also when requests before it on the same connection have no answer yet. What comes after those would be
 * written into the middle of them, so `go` is called when the last one is out. The connection is cut when that takes too long.
 */
export function afterEarlierAnswers(socket: Busy, go: () => void): void {
  if (!socket._httpMessage) return go();
  const timer = setTimeout(() => socket.destroy(), WAIT_MS);
  socket.once('close', () => clearTimeout(timer));
  const look = (): void => {
    const busyWith = socket._httpMessage;
    if (busyWith) return void busyWith.once('close', look);
    clearTimeout(timer);
    if (!socket.writable) return void socket.destroy();
    // It waits for no further request.
    socket.setTimeout?.(0);
    go();
  };
  look();
}
