import { createHash } from 'node:crypto';

/** Part of an image name (`role/name@version`): lower case, bounded, never empty. Two ids may give the same: the digest tells them apart. */
export function slug(text: string, max = 40): string {
  const plain = text
    .toLowerCase()
    .replaceAll(/[^a-z0-9._-]+/g, '-')
    .replace(/^[^a-z0-9]+/, '')
    .slice(0, max);
  return plain.replace(/[^a-z0-9]+$/, '') || 'x';
}

/** 64 bits of a SHA-256 over the parts, as hex: names content. */
export function shortDigest(...parts: unknown[]): string {
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex').slice(0, 16);
}

/** The part of a trial's image names that tells its steps apart. */
export function stepPart({ name }: { name: string | null }, index: number): string {
  return name === null ? '1' : `step${index + 1}`;
}

/** A trial's state; `part` tells the steps and the graded one apart. */
export function trialImage(jobId: string, trialName: string, part: string): string {
  return `trial/${slug(jobId, 60)}/${slug(trialName, 60)}-${shortDigest(jobId, trialName)}@${part}`;
}

/** Is it an image that jobs make for themselves: of a task, its tests, or the state of a trial? */
export function isJobImage(name: string): boolean {
  return /^(trial\/|(task|task-env|grader)\/[^@]*@[0-9a-f]{16}$)/.test(name);
}
