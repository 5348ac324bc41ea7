import { fileURLToPath } from 'node:url';
import { VivError } from '@vivarium/protocol';
import { WorkerGone, WorkerProcess } from '../../worker-process.ts';
import type { ArchiveListing } from '../blobs.ts';
import { asVivError } from '../refusal-error.ts';
import type { Converted, ConvertJob } from './convert.ts';
import type { WorkerAnswer, WorkerJob } from './convert-main.ts';

const MAIN = fileURLToPath(new URL('./convert-main.ts', import.meta.url));

/** Reads archives and converts layers, one after the other, in a process of its own. Made for one import. */
export class LayerConverter {
  #worker: WorkerProcess<WorkerJob, WorkerAnswer> | undefined;

  /** @throws VivError `invalid_image`, `path_escapes`, `internal`; errors of a full disk with their code. */
  async convert(job: ConvertJob, signal: AbortSignal): Promise<Converted> {
    const answer = await this.#ask({ type: 'convert', job }, signal);
    if (answer.type !== 'converted') throw failure(answer);
    return answer.converted;
  }

  /** Where the files of an archive lie in it. */
  async list(archive: string, signal: AbortSignal): Promise<ArchiveListing> {
    const answer = await this.#ask({ type: 'list', archive }, signal);
    if (answer.type !== 'listed') throw failure(answer);
    return answer.listing;
  }

  close(): void {
    this.#worker?.end();
  }

  async #ask(request: WorkerJob, signal: AbortSignal): Promise<WorkerAnswer> {
    signal.throwIfAborted();
    this.#worker ??= new WorkerProcess(MAIN, 'layer converting');
    try {
      return await this.#worker.ask(request, signal);
    } catch (thrown) {
      signal.throwIfAborted();
      throw thrown instanceof WorkerGone ? new VivError('internal', thrown.message, { cause: thrown }) : thrown;
    }
  }
}

function failure(answer: WorkerAnswer): Error {
  if (answer.type !== 'error') return new Error(`the worker answered with ${answer.type}`);
  const { code, message } = answer;
  if (code === 'ENOSPC' || code === 'EDQUOT') return Object.assign(new Error(message), { code });
  return asVivError({ code, message }) ?? new VivError('internal', `a layer could not be converted: ${message}`);
}
