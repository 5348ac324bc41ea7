import { createConnection, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { VivError } from '@vivarium/protocol';

/** Tries while PID 1 lives: its backlog may be full for a moment. */
const ATTEMPTS_MAX = 50;
const WAIT_MS = 20;

/** Connects to a cell's control socket. Throws VivError `sandbox_lost` when nobody listens and PID 1 is gone. */
export async function connectCell(path: string, alive: () => boolean): Promise<Socket> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await connectUnix(path);
    } catch (error) {
      if (!alive() || attempt >= ATTEMPTS_MAX)
        throw new VivError('sandbox_lost', `the sandbox does not answer on its control socket`, { cause: error });
    }
    await sleep(WAIT_MS);
  }
}

function connectUnix(path: string): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = createConnection({ path });
    socket.once('error', reject);
    socket.once('connect', () => {
      socket.off('error', reject);
      resolve(socket);
    });
  });
}
