import type { AgentConfig } from '../job/config.ts';
import { type Agent, agentInfo } from './agent.ts';

/** Does nothing: what a task scores untouched. */
export function nop(config: AgentConfig): Agent {
  return {
    info: agentInfo(config),
    writesLogs: false,
    prepare: async () => {},
    run: async () => ({ result: null, failure: null, notes: [] }),
  };
}
