import type { CreateOptions } from '@vivarium/sdk';
import type { JobConfig } from '../job/config.ts';
import { resolveEnv } from '../task/env.ts';

/**
 * Variables that tell an agent its model and where it answers: OpenAI's clients want `/v1` in the address, Anthropic's add
 * it themselves. The keys are there because clients refuse to start without one; the real one is a header of the reach. An agent
 * beside the sandbox gets the address itself, and has its own key.
 */
export function modelEnv(job: JobConfig): Record<string, string> {
  const [agent] = job.agents;
  const { modelUrl, modelPort } = job.vivarium;
  const model: Record<string, string> = agent?.model_name
    ? { MODEL: agent.model_name, VIV_MODEL: agent.model_name }
    : {};
  if (modelUrl === null) return model;
  if (agent?.kwargs.place === 'beside') return { ...model, ...addresses(withoutVersion(modelUrl)) };
  const keys = { OPENAI_API_KEY: 'vivarium', ANTHROPIC_API_KEY: 'vivarium' };
  return { ...model, ...addresses(`http://localhost:${modelPort}`), ...keys };
}

function addresses(url: string): Record<string, string> {
  return { OPENAI_BASE_URL: `${url}/v1`, ANTHROPIC_BASE_URL: url };
}

/** A `/v1` at the end is taken off: clients add it. */
function withoutVersion(url: string): string {
  return url.replace(/\/+$/, '').replace(/\/v1$/, '');
}

type Reach = NonNullable<CreateOptions['reach']>[number];

/** The model's endpoint, on localhost of the sandbox. Values of headers may be `${NAME}`. */
export function modelReach(job: JobConfig, hostEnv: Readonly<Record<string, string | undefined>>): Reach | undefined {
  const { modelUrl, modelPort, modelHeaders } = job.vivarium;
  if (modelUrl === null) return undefined;
  return {
    port: modelPort,
    url: withoutVersion(modelUrl),
    ...(Object.keys(modelHeaders).length > 0 && { headers: resolveEnv(modelHeaders, hostEnv, '--model-header') }),
  };
}
