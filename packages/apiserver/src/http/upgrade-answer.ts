import { type IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';

/** A client that has its answer is to close the connection within this. */
const HANG_UP_MS = 10_000;

/**
 * An HTTP answer where a WebSocket was asked for; the connection ends with it. Nobody reads what the client sends after such a request: it is
 * read and dropped once the answer is out, for a client that goes would not be noticed behind it, and its connection stay for ever.
 */
export function upgradeAnswer(req: IncomingMessage, socket: Duplex): ServerResponse {
  const res = new ServerResponse(req);
  res.shouldKeepAlive = false;
  res.assignSocket(socket as never);
  res.once('prefinish', () => {
    const timer = setTimeout(() => socket.destroy(), HANG_UP_MS);
    timer.unref();
    socket.once('close', () => clearTimeout(timer));
  });
  res.once('finish', () => {
    socket.end();
    socket.resume();
  });
  return res;
}
