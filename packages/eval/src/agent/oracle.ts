import { VivError } from '@vivarium/sdk';
import type { AgentConfig } from '../job/config.ts';
import { type Agent, agentInfo } from './agent.ts';
import { runCommand } from './inside.ts';

/** Runs the task's own solution: solve.sh must score 1. */
export function oracle(config: AgentConfig): Agent {
  return {
    info: agentInfo(config),
    writesLogs: true,
    prepare: async (step, tree) => {
      if (step.solution === null)
        throw new VivError('task_refused', 'the task has no solution/solve.sh: the oracle has nothing to run');
      await tree.addTree('solution', step.solution);
    },
    run: (session) =>
      runCommand(session, '/solution/solve.sh > /logs/agent/oracle.txt 2>&1', {
        env: { DEBIAN_FRONTEND: 'noninteractive', ...session.env, ...session.solutionEnv },
        stdin: '',
      }),
  };
}
