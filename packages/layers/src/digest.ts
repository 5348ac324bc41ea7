import { Worker } from 'node:worker_threads';
import { Semaphore } from './semaphore.ts';

/** At most two files are hashed at a time: more would only fight for the disk. */
const hashing = new Semaphore(2);

/** sha256 of a file as `sha256:<hex>`, off the main thread (0.4 s for 500 MB would stall every command on the node). Errors of open and read pass. */
export async function fileDigest(path: string): Promise<string> {
  return hashing.run(async () => `sha256:${await hashInWorker(path)}`);
}

function hashInWorker(path: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const worker = new Worker(new URL('./digest-worker.ts', import.meta.url), { workerData: path });
    worker.once('message', resolve);
    worker.once('error', reject);
    worker.once('exit', (code) => reject(new Error(`the digest worker ended with ${code}`)));
  });
}
