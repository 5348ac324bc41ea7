import { type ErrorCode, VivError } from '@vivarium/sdk';

/**
 * How a trial ended. `unverified`: the job was told not to verify. Rewards may stand beside agent_timeout and agent_error,
 * since the verifier runs all the same; beside the four last ones there are none.
 */
export const TRIAL_OUTCOMES = [
  'passed',
  'failed',
  'agent_timeout',
  'agent_error',
  'unverified',
  'verifier_error',
  'build_error',
  'infra_error',
  'refused',
] as const;
export type TrialOutcome = (typeof TRIAL_OUTCOMES)[number];

export type Rewards = Record<string, number>;

/** What became of the agent: null is fine. */
export type AgentFailure = { type: 'agent_timeout' | 'agent_error'; message: string };

/** The one number of a trial: key `reward`, else the mean of all keys. */
export function scoreOf(rewards: Rewards): number {
  if (rewards.reward !== undefined) return rewards.reward;
  const values = Object.values(rewards);
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

/** A score of at least 1 passes; fractions and zero fail. The agent's own failure comes first. */
export function outcomeOf(agent: AgentFailure | null, rewards: Rewards | null, verified: boolean): TrialOutcome {
  if (agent) return agent.type;
  if (!verified) return 'unverified';
  if (!rewards) return 'verifier_error';
  return scoreOf(rewards) >= 1 ? 'passed' : 'failed';
}

/** Thrown by a phase of a trial to end it with this outcome. */
export class TrialStop extends Error {
  readonly outcome: TrialOutcome;

  constructor(outcome: TrialOutcome, cause: unknown) {
    super(VivError.from(cause).message, { cause });
    this.outcome = outcome;
  }

  get error(): VivError {
    return VivError.from(this.cause);
  }
}

/** What the task asks for and this node can't give: another try would end the same. */
const REFUSALS: ReadonlySet<ErrorCode> = new Set<ErrorCode>(['limit_too_high', 'unsupported', 'task_refused']);

/** The sandbox went away under the trial: someone or something ended it. */
const GONE: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'sandbox_dead',
  'sandbox_lost',
  'sandbox_not_found',
  'lease_not_found',
  'exec_not_found',
  'quota_exceeded',
]);

/** What an error in one phase makes of the trial. Failures of the machinery are never the task's or the agent's. */
export function stopFor(thrown: unknown, phase: 'build' | 'start' | 'run' | 'verify'): TrialStop {
  if (thrown instanceof TrialStop) return thrown;
  const error = VivError.from(thrown);
  if (error.fault === 'infra' || GONE.has(error.code)) return new TrialStop('infra_error', error);
  if (REFUSALS.has(error.code)) return new TrialStop('refused', error);
  if (phase === 'build' || phase === 'start') return new TrialStop('build_error', error);
  // What an agent left may be such that no grade can be made of it (directories too deep to be read): that is its doing.
  return new TrialStop(phase === 'verify' && error.fault !== 'agent' ? 'verifier_error' : 'agent_error', error);
}

/** May another try of the whole trial end better? */
export function isInfra(outcome: TrialOutcome): boolean {
  return outcome === 'infra_error';
}
