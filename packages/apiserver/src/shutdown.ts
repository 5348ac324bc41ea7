import type { Server } from 'node:http';
import type { Server as NetServer, Socket } from 'node:net';

/** How often connections are looked through for those whose last answer is out. */
const SWEEP_MS = 50;

/** Knows every connection of a server, also those that became WebSockets, which Node's own list forgets. */
export class Shutdown {
  readonly #server: Server;
  readonly #front: NetServer | undefined;
  readonly #sockets = new Set<Socket>();

  /** `front`: another one that takes connections for it. */
  constructor(server: Server, front?: NetServer) {
    this.#server = server;
    this.#front = front;
    const note = (socket: Socket) => {
      this.#sockets.add(socket);
      socket.once('close', () => this.#sockets.delete(socket));
    };
    server.on('connection', note);
    front?.on('connection', note);
  }

  /** No new connections; what is under way may finish within the grace time, then everything is cut. */
  stop(graceMs: number): Promise<void> {
    const server = this.#server;
    if (this.#front?.listening) this.#front.close();
    return new Promise((resolve) => {
      const sweep = setInterval(() => server.closeIdleConnections(), SWEEP_MS);
      const cut = setTimeout(() => {
        for (const socket of this.#sockets) socket.destroy();
      }, graceMs);
      server.close(() => {
        clearInterval(sweep);
        clearTimeout(cut);
        resolve();
      });
      server.closeIdleConnections();
      for (const socket of this.#sockets) if (socket.bytesRead === 0) socket.destroy();
    });
  }
}
