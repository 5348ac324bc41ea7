import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Task } from '../task/task.ts';
import { readTree } from '../task/tree.ts';

/** A file that an agent must not have: part of the solution or of the tests. */
export type AnswerFile = {
  path: string;
  kind: 'solution' | 'tests';
  bytes: number;
  sha256: string;
  /** The name git gives to this content (SHA-1 object format). */
  gitBlob: string;
};

const ANSWER = /^(?:steps\/[^/]+\/)?(solution|tests)\//;
/** Smaller ones are alike by chance; larger ones are data. */
const BYTES_MIN = 40;
const BYTES_MAX = 32 * 2 ** 20;
const FILES_MAX = 1000;

/** The answer files of a task that are worth looking for, the largest left out. */
export async function answerFiles(task: Task): Promise<AnswerFile[]> {
  const entries = (await readTree(task.dir))
    .filter(({ path, type, bytes }) => type === 'file' && ANSWER.test(path) && bytes >= BYTES_MIN && bytes <= BYTES_MAX)
    .slice(0, FILES_MAX);
  const files: AnswerFile[] = [];
  for (const { path } of entries) {
    const content = await readFile(join(task.dir, path));
    files.push({
      path,
      kind: ANSWER.exec(path)![1] as AnswerFile['kind'],
      bytes: content.length,
      sha256: createHash('sha256').update(content).digest('hex'),
      gitBlob: createHash('sha1').update(`blob ${content.length}\0`).update(content).digest('hex'),
    });
  }
  return files;
}

/** Files of environment/ with the same content as an answer: every agent gets them. */
export async function answersInEnvironment(
  task: Task,
  answers: readonly AnswerFile[],
): Promise<{ file: string; answer: AnswerFile }[]> {
  const sizes = new Set(answers.map(({ bytes }) => bytes));
  const found: { file: string; answer: AnswerFile }[] = [];
  for (const { path, type, bytes } of await readTree(task.dir)) {
    if (type !== 'file' || !path.startsWith('environment/') || !sizes.has(bytes)) continue;
    const sha256 = createHash('sha256')
      .update(await readFile(join(task.dir, path)))
      .digest('hex');
    const answer = answers.find((candidate) => candidate.sha256 === sha256);
    if (answer !== undefined) found.push({ file: path, answer });
  }
  return found;
}
