import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { JobResult, TrialResult } from '@vivarium/eval';
import { IMAGE, runViv, type TestNode } from './node.ts';

/** Content by path; null leaves a file of the plain task out. */
export type TaskFiles = Record<string, string | null>;

export const TOML = `[agent]\ntimeout_sec = 60\n[verifier]\ntimeout_sec = 60\n[environment]\ndocker_image = "${IMAGE}"\nworkdir = "/srv"\n`;

/** Solved when /srv/hello.txt holds hello. */
const PLAIN: TaskFiles = {
  'task.toml': TOML,
  'instruction.md': 'Write hello to /srv/hello.txt.\n',
  'solution/solve.sh': '#!/bin/bash\nprintf hello > /srv/hello.txt\n',
  'tests/test.sh':
    '#!/bin/bash\n[ "$(cat /srv/hello.txt 2>/dev/null)" = hello ] && r=1 || r=0\necho $r > /logs/verifier/reward.txt\n',
};

/** A directory of tasks and one of jobs that a test file fills. */
export class TaskSet implements Disposable {
  readonly root = mkdtempSync(join(tmpdir(), 'viv-eval-'));
  readonly jobs = join(this.root, 'jobs');

  [Symbol.dispose](): void {
    rmSync(this.root, { recursive: true, force: true });
  }

  /** Adds a task to the set of that name; returns the set's directory. */
  task(set: string, name: string, files: TaskFiles = {}): string {
    for (const [path, content] of Object.entries({ ...PLAIN, ...files })) {
      if (content === null) continue;
      const file = join(this.root, set, name, path);
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, content, { mode: path.endsWith('.sh') ? 0o755 : 0o644 });
    }
    return join(this.root, set);
  }

  /** `viv eval` to the end; its results by task. */
  run(node: TestNode, dir: string, job: string, ...args: string[]) {
    const all = ['eval', dir, '-o', this.jobs, '--job-name', job, '-q', '--json', ...args];
    const { code, stdout, stderr } = runViv(node, all);
    return { code, stderr, job: (stdout === '' ? null : JSON.parse(stdout)) as JobResult, trials: this.trials(job) };
  }

  /** The finished trials of a job. */
  trials(job: string): TrialResult[] {
    const dir = join(this.jobs, job);
    if (!existsSync(dir)) return [];
    return readdirSync(dir, { withFileTypes: true })
      .filter((entry) => entry.isDirectory())
      .flatMap(({ name }) => {
        try {
          return [JSON.parse(readFileSync(join(dir, name, 'result.json'), 'utf8')) as TrialResult];
        } catch {
          return [];
        }
      });
  }

  /** A file of a trial's directory. */
  file(job: string, trial: TrialResult, path: string): string {
    return readFileSync(join(this.jobs, job, trial.trial_name, path), 'utf8');
  }
}

/** `task → outcome` of a job's trials. */
export function outcomes(trials: readonly TrialResult[]): Record<string, string> {
  return Object.fromEntries(trials.map((trial) => [trial.task_name, trial.vivarium.outcome]));
}
