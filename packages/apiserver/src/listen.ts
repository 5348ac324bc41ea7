import type { AddressInfo, Server } from 'node:net';
import { VivError } from '@vivarium/protocol';

/** Listens, and tells at which port. Throws `precondition_failed` when the address can't be had. */
export function listen(server: Server, host: string, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      const why = error.code === 'EADDRINUSE' ? 'something else uses it' : error.message;
      reject(new VivError('precondition_failed', `cannot listen on ${host}:${port}: ${why}`, { cause: error }));
    });
    server.listen({ host, port, backlog: 1024 }, () => resolve((server.address() as AddressInfo).port));
  });
}
