import { containerOperations } from '../drivers/container/operations.ts';
import { volumeOperations } from '../volumes/operations.ts';
import { mountOperations } from './mounts.ts';
import { serveOperations } from './server.ts';

/**
 * The spawner: a small process beside the server that makes the blocking system calls (mounts, subvolumes) and starts
 * the programs (crun) for it. It ends with its standard input, so with the server, however that ends.
 */
serveOperations({ ...mountOperations, ...containerOperations, ...volumeOperations }, process.stdin, process.stdout);
process.stdin.on('end', () => process.exit(0));
process.stdout.on('error', () => process.exit(0));
// Who ends all of a node's processes by a signal means the server, which decides when we end.
process.on('SIGINT', () => undefined);
process.on('SIGTERM', () => undefined);
