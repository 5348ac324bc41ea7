import type { Sandbox, Vivarium } from '@vivarium/sdk';
import { resolveEnv } from '../task/env.ts';
import type { Task } from '../task/task.ts';
import { TEST_COMMAND } from '../trial/verification.ts';
import type { Finding } from './finding.ts';

/** Where software lives: a verifier that writes there installs something each time. */
const SYSTEM =
  /^\/(usr|opt|lib\w*|bin|sbin|var\/lib\/(dpkg|apt|rpm))(\/|$)|\/(site-packages|dist-packages|node_modules)(\/|$)|^\/(root|home\/[^/]+)\/\.(cargo|npm|local|cache\/(uv|pip|node-gyp|go-build))(\/|$)/;
/** Python writes these when it imports; they are no installation. */
const HARMLESS = /\/__pycache__(\/|$)|\.pyc$/;
const SHOWN_MAX = 5;
const CHANGES_MAX = 100_000;

export type GradeWatch = {
  viv: Vivarium;
  task: Task;
  /** The state that an oracle left, as it was graded. */
  image: string;
  grader: string;
  workdir: string;
  limits: Parameters<Vivarium['sandboxes']['create']>[0]['limits'];
  lease: string;
  hostEnv: Readonly<Record<string, string | undefined>>;
  signal: AbortSignal;
};

/** Runs the tests once more over a state that passed and looks at what they changed in the system. */
export async function watchGrade(options: GradeWatch): Promise<Finding[]> {
  const { viv, task, image, grader, lease, limits, signal } = options;
  const sandbox = await viv.sandboxes.create(
    { image, overlay: [grader], lease, limits, labels: { 'viv.role': 'validate' }, ttlS: 3600 },
    { signal },
  );
  try {
    await runTests(sandbox, options);
    return findings(await systemChanges(sandbox, signal), task);
  } finally {
    // Should the node be away, the lease ends it.
    await sandbox.kill().catch(() => {});
  }
}

async function runTests(sandbox: Sandbox, { task, workdir, hostEnv, signal }: GradeWatch): Promise<void> {
  const { environment, verifier } = task.config;
  await sandbox.exec(TEST_COMMAND, {
    cwd: workdir,
    env: { ...resolveEnv(environment.env, hostEnv), ...resolveEnv(verifier.env, hostEnv) },
    timeoutMs: verifier.timeoutMs,
    keepBytes: 4096,
    signal,
    ...(verifier.user !== null && { user: verifier.user }),
  });
}

async function systemChanges(sandbox: Sandbox, signal: AbortSignal): Promise<string[]> {
  const paths: string[] = [];
  let seen = 0;
  for await (const { path, type } of sandbox.changes({ signal })) {
    if (++seen > CHANGES_MAX) break;
    if (type !== 'dir' && SYSTEM.test(path) && !HARMLESS.test(path)) paths.push(path);
  }
  return paths;
}

function findings(paths: readonly string[], task: Task): Finding[] {
  if (paths.length === 0) return [];
  const shown = paths.slice(0, SHOWN_MAX).join(', ');
  const more = paths.length > SHOWN_MAX ? ` and ${paths.length - SHOWN_MAX} more` : '';
  const file = task.tests === null ? {} : { file: 'tests/test.sh' };
  const message = `changes the system when it grades: ${shown}${more}. What a grade needs belongs into the image.`;
  return [{ severity: 'warning', rule: 'changes_system_at_grade_time', message, ...file }];
}
