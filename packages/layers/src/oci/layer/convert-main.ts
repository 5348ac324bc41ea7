import { createInterface } from 'node:readline';
import { type ArchiveListing, listArchive } from '../blobs.ts';
import { type Converted, type ConvertJob, convertLayer } from './convert.ts';

export type WorkerJob = { type: 'convert'; job: ConvertJob } | { type: 'list'; archive: string };
type Failed = { type: 'error'; code: string; message: string };
export type WorkerAnswer =
  | { type: 'converted'; converted: Converted }
  | { type: 'listed'; listing: ArchiveListing }
  | Failed;

/** Child process: a job per line of stdin, an answer per line of stdout, until stdin ends. Blocking calls stay out of the server. */
for await (const line of createInterface({ input: process.stdin, crlfDelay: 0 })) {
  process.stdout.write(`${JSON.stringify(await answer(JSON.parse(line) as WorkerJob))}\n`);
}

async function answer(request: WorkerJob): Promise<WorkerAnswer> {
  try {
    if (request.type === 'list') return { type: 'listed', listing: listArchive(request.archive) };
    return { type: 'converted', converted: await convertLayer(request.job) };
  } catch (thrown) {
    const { code, message } = thrown as NodeJS.ErrnoException;
    return { type: 'error', code: code ?? 'failed', message };
  }
}
