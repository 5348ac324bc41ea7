import type { AgentConfig } from '../job/config.ts';
import type { Agent } from './agent.ts';
import { beside } from './beside.ts';
import { inside } from './inside.ts';
import { nop } from './nop.ts';
import { oracle } from './oracle.ts';

export { type Agent, type AgentRun, type AgentSession, agentConfig } from './agent.ts';

/** The agent that a job's config names. */
export function agentOf(config: AgentConfig): Agent {
  if (config.kwargs.command === null) return config.name === 'oracle' ? oracle(config) : nop(config);
  return config.kwargs.place === 'beside' ? beside(config) : inside(config);
}
