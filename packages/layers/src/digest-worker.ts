import { createHash } from 'node:crypto';
import { closeSync, openSync, readSync } from 'node:fs';
import { parentPort, workerData } from 'node:worker_threads';

/** Worker thread: posts the sha256 (hex) of the file it was given. Blocking reads are fine here. */
const descriptor = openSync(workerData as string, 'r');
const hash = createHash('sha256');
const buffer = new Uint8Array(1024 * 1024);
for (;;) {
  const count = readSync(descriptor, buffer, 0, buffer.length, null);
  if (count === 0) break;
  hash.update(buffer.subarray(0, count));
}
closeSync(descriptor);
parentPort?.postMessage(hash.digest('hex'));
