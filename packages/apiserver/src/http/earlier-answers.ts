import type { ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';

/** Node keeps the answer that a connection is busy with here, and makes the next one's turn of it when that is out. */
type Busy = Duplex & { _httpMessage?: ServerResponse | null; setTimeout?(ms: number): void };

/**
 * Node tells of an upgrade at once, also when requests before it on the same connection have no answer yet. What comes after those would be
 * written into the middle of them, so `go` is called when the last one is out; never, when the connection ends with them.
 */
export function afterEarlierAnswers(socket: Busy, go: () => void): void {
  const busyWith = socket._httpMessage;
  if (!busyWith) return go();
  busyWith.once('close', () => {
    if (!socket.writable) return void socket.destroy();
    // It waits for no further request.
    socket.setTimeout?.(0);
    afterEarlierAnswers(socket, go);
  });
}
