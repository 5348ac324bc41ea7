import { rmSync } from 'node:fs';
import { collect, type Vivarium, VivError } from '@vivarium/sdk';
import { slug } from '../trial/image-name.ts';
import { removeImage } from './agent-trials.ts';
import type { JobDirectory } from './directory.ts';
import { endEarlierRun } from './lease.ts';
import { runnerOf } from './runner-lock.ts';

/** Removes a job: its sandboxes, the states of its trials on the node, its directory. Returns how many images went. */
export async function removeJob(viv: Vivarium, directory: JobDirectory): Promise<number> {
  const runner = runnerOf(directory.path);
  if (runner) throw new VivError('job_running', `process ${runner.pid} runs the job ${directory.path}`);
  const { id } = directory.config.vivarium;
  await endEarlierRun(viv, id);
  const images = (await collect(viv.images.list())).filter(({ name }) => name.startsWith(`trial/${slug(id, 60)}/`));
  for (const { name } of images) await removeImage(viv, name);
  rmSync(directory.path, { recursive: true, force: true });
  return images.length;
}
