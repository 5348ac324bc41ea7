import { createInterface } from 'node:readline';
import { type PackJob, type PackOutcome, runJob } from './job.ts';
import { TreeTooLarge } from './walk.ts';

export type PackAnswer = { outcome: PackOutcome } | { error: { code: string; message: string } };

/** Child process: a job per line of stdin, an answer per line of stdout, until stdin ends. Blocking calls and koffi stay out of the server. */
for await (const line of createInterface({ input: process.stdin, crlfDelay: 0 })) {
  process.stdout.write(`${JSON.stringify(answer(JSON.parse(line) as PackJob))}\n`);
}

function answer(job: PackJob): PackAnswer {
  try {
    return { outcome: runJob(job) };
  } catch (thrown) {
    const { code, message } = thrown as NodeJS.ErrnoException;
    const isLarge = thrown instanceof TreeTooLarge || thrown instanceof RangeError || code === 'E2BIG';
    return { error: { code: isLarge ? 'too_large' : (code ?? 'failed'), message } };
  }
}
