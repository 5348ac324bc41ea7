import { rmSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { VivError } from '@vivarium/protocol';
import { Semaphore } from '../semaphore.ts';
import { WorkerGone, WorkerProcess } from '../worker-process.ts';
import type { PackJob, PackOutcome } from './job.ts';
import type { PackAnswer } from './packer-main.ts';

const MAIN = fileURLToPath(new URL('./packer-main.ts', import.meta.url));
/** Packs that run at once: they are mostly work of one CPU each. */
const WORKERS_MAX = 2;
/** A worker that somebody killed is replaced, and the job done again, this often. */
const ATTEMPTS_MAX = 2;

type PackWorker = WorkerProcess<PackJob, PackAnswer>;

/** Runs packs in worker processes, which are kept for a while: starting one costs more than a pack. */
export class Packer {
  readonly #slots = new Semaphore(WORKERS_MAX);
  readonly #idle: PackWorker[] = [];
  #closed = false;

  /** @throws VivError `invalid_image` (a bound), `import_failed` (canceled), `internal`; errors of a full disk with their code. */
  run(job: PackJob, signal: AbortSignal): Promise<PackOutcome> {
    return this.#slots.run(async () => {
      for (let attempt = 1; ; attempt++) {
        signal.throwIfAborted();
        for (const file of job.files) rmSync(file, { force: true });
        try {
          return await this.#once(job, signal);
        } catch (error) {
          if (!(error instanceof WorkerGone)) throw error;
          signal.throwIfAborted();
          if (attempt >= ATTEMPTS_MAX) throw new VivError('internal', error.message, { cause: error });
        }
      }
    });
  }

  close(): void {
    this.#closed = true;
    for (const worker of this.#idle.splice(0)) worker.end();
  }

  async #once(job: PackJob, signal: AbortSignal): Promise<PackOutcome> {
    const worker: PackWorker = this.#takeIdle() ?? new WorkerProcess(MAIN, 'packing');
    const answer = await worker.ask(job, signal);
    if (this.#closed) worker.end();
    else this.#rest(worker);
    if ('outcome' in answer) return answer.outcome;
    throw failure(answer.error);
  }

  #takeIdle(): PackWorker | undefined {
    const worker = this.#idle.pop();
    worker?.stay();
    return worker;
  }

  #rest(worker: PackWorker): void {
    this.#idle.push(worker);
    worker.restUntilEnd(() => {
      const at = this.#idle.indexOf(worker);
      if (at >= 0) this.#idle.splice(at, 1);
    });
  }
}

function failure({ code, message }: { code: string; message: string }): Error {
  if (code === 'too_large')
    return new VivError('invalid_image', `what the sandbox changed does not fit into a layer: ${message}`, {
      hint: 'Remove files in the sandbox, or leave them out with `exclude`.',
      fault: 'agent',
    });
  if (code === 'ENOSPC' || code === 'EDQUOT') return Object.assign(new Error(message), { code });
  return new VivError('internal', `the changes could not be packed: ${message}`);
}
