import { fileURLToPath } from 'node:url';
import { WorkerProcess } from '../worker-process.ts';
import type { PackJob } from './job.ts';
import type { PackAnswer } from './packer-main.ts';

const MAIN = fileURLToPath(new URL('./packer-main.ts', import.meta.url));

/** One process that packs. */
export class PackWorker extends WorkerProcess<PackJob, PackAnswer> {
  constructor() {
    super(MAIN, 'packing');
  }
}
