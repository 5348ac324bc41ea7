import type { Artifact, Healthcheck, PhaseConfig, Task, TaskEnvironment, VerifierConfig } from '../task/index.ts';

/** One round of agent and verifier. A task without steps has one, without a name. */
export type TrialStep = {
  name: string | null;
  instruction: string;
  agent: PhaseConfig;
  verifier: VerifierConfig;
  /** The verifier's own environment; null: a fresh sandbox of the agent's image. */
  separate: TaskEnvironment | null;
  /** Directories laid over each other as /tests. */
  tests: string[];
  solution: string | null;
  healthcheck: Healthcheck | null;
  artifacts: Artifact[];
  workdir: string | null;
  hasSetup: boolean;
  minReward: Record<string, number> | null;
};

/** The rounds of a task, in order. */
export function stepsOf(task: Task): TrialStep[] {
  const { config } = task;
  if (task.steps.length === 0) {
    return [
      {
        name: null,
        instruction: task.instruction,
        agent: config.agent,
        verifier: config.verifier,
        separate: task.separate,
        tests: present(task.tests),
        solution: task.solution,
        healthcheck: config.environment.healthcheck,
        artifacts: config.artifacts,
        workdir: null,
        hasSetup: false,
        minReward: null,
      },
    ];
  }
  return task.steps.map((step, index) => ({
    name: step.name,
    instruction: step.instruction,
    agent: step.agent,
    verifier: step.verifier,
    separate: step.separate,
    tests: [...present(task.tests), ...present(step.tests)],
    solution: step.solution,
    healthcheck: step.healthcheck ?? (index === 0 ? config.environment.healthcheck : null),
    artifacts: [...config.artifacts, ...step.artifacts],
    workdir: step.workdir,
    hasSetup: step.setup !== null,
    minReward: step.minReward,
  }));
}

/** Does this step end the trial? A reward that is missing is below every minimum. */
export function fallsShort(minReward: Record<string, number> | null, rewards: Record<string, number> | null): boolean {
  return Object.entries(minReward ?? {}).some(([key, least]) => (rewards?.[key] ?? Number.NEGATIVE_INFINITY) < least);
}

/** Mean per key over the steps that have rewards, or the last step's. */
export function combineRewards(
  strategy: 'mean' | 'final',
  steps: readonly (Record<string, number> | null)[],
): Record<string, number> | null {
  if (strategy === 'final') return steps.at(-1) ?? null;
  const graded = steps.filter((rewards) => rewards !== null);
  if (graded.length === 0) return null;
  const keys = new Set(graded.flatMap((rewards) => Object.keys(rewards)));
  return Object.fromEntries(
    [...keys].map((key) => {
      const values = graded.map((rewards) => rewards[key]).filter((value) => value !== undefined);
      return [key, values.reduce((sum, value) => sum + value, 0) / values.length];
    }),
  );
}

function present(path: string | null): string[] {
  return path === null ? [] : [path];
}
