import { Vivarium } from '@vivarium/sdk';
import { localConnection } from '@vivarium/sdk/node/local-connection.ts';

export type ConnectionOptions = { url?: string; apiKey?: string };

/** A client for one command: a person is waiting, so an unreachable server is reported soon. */
export function connect(options: ConnectionOptions): Vivarium {
  return new Vivarium({ ...localConnection(options), retryMs: 1_000 });
}
