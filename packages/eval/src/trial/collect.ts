import { mkdirSync } from 'node:fs';
import { basename, join } from 'node:path';
import type { Sandbox } from '@vivarium/sdk';
import type { Artifact } from '../task/index.ts';
import { matches } from '../task/pattern.ts';
import { downloadFiles, type LogBudget } from './log-files.ts';

/** What the agent left in /logs/agent and /logs/artifacts, and the declared artifacts, to the trial's directory. */
export async function collectLogs(
  sandbox: Sandbox,
  target: string,
  artifacts: readonly Artifact[],
  budget: LogBudget,
  signal: AbortSignal,
): Promise<void> {
  const place = (path: string) => {
    const [top, ...rest] = path.split('/');
    if ((top !== 'agent' && top !== 'artifacts') || rest.length === 0) return null;
    return path === 'agent/instruction.md' ? null : path;
  };
  await downloadFiles(sandbox, '/logs', target, place, budget, signal);
  for (const artifact of artifacts) await collectArtifact(sandbox, target, artifact, budget, signal);
}

async function collectArtifact(
  sandbox: Sandbox,
  target: string,
  { source, destination, exclude }: Artifact,
  budget: LogBudget,
  signal: AbortSignal,
): Promise<void> {
  if (source === '/logs/artifacts') return;
  const to = join('artifacts', safeRelative(destination ?? basename(source)));
  mkdirSync(join(target, 'artifacts'), { recursive: true });
  const entry = await sandbox.files.stat(source, { follow: true, user: 'root', signal }).catch(() => null);
  if (entry === null) return budget.note(`artifact ${source} is not there`);
  const isDirectory = entry.type === 'dir';
  const place = (path: string) => {
    if (!isDirectory) return to;
    return isExcluded(path, exclude) ? null : join(to, path);
  };
  if (!(await downloadFiles(sandbox, source, target, place, budget, signal)))
    budget.note(`artifact ${source} is not there`);
}

/** A pattern fits a path below the source or the name of any part of it. */
export function isExcluded(path: string, exclude: readonly string[]): boolean {
  return exclude.some(
    (pattern) => matches(path, pattern) || path.split('/').some((part) => matches(part, pattern.replace(/\/$/, ''))),
  );
}

function safeRelative(path: string): string {
  return (
    path
      .split('/')
      .filter((part) => part !== '' && part !== '.' && part !== '..')
      .join('/') || 'artifact'
  );
}
