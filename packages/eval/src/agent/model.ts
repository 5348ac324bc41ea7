import type { CreateOptions } from '@vivarium/sdk';
import type { JobConfig } from '../job/config.ts';
import { resolveEnv } from '../task/env.ts';

/**
 * Variables that tell an agent its model and where it answers: OpenAI's clients want `/v1` in the address, Anthropic's add
 * it themselves. The keys are there because clients refuse to start without one; the real one is a header of the reach.
 */
export function modelEnv(job: JobConfig): Record<string, string> {
  const [agent] = job.agents;
  const { modelUrl, modelPort } = job.vivarium;
  return {
    ...(agent?.model_name && { MODEL: agent.model_name, VIV_MODEL: agent.model_name }),
    ...(modelUrl !== null && {
      OPENAI_BASE_URL: `http://localhost:${modelPort}/v1`,
      ANTHROPIC_BASE_URL: `http://localhost:${modelPort}`,
      OPENAI_API_KEY: 'vivarium',
      ANTHROPIC_API_KEY: 'vivarium',
    }),
  };
}

type Reach = NonNullable<CreateOptions['reach']>[number];

/** The model's endpoint, on localhost of the sandbox. Values of headers may be `${NAME}`. A `/v1` at the end of the address is taken off: clients add it. */
export function modelReach(job: JobConfig, hostEnv: Readonly<Record<string, string | undefined>>): Reach | undefined {
  const { modelUrl, modelPort, modelHeaders } = job.vivarium;
  if (modelUrl === null) return undefined;
  const url = modelUrl.replace(/\/+$/, '').replace(/\/v1$/, '');
  return {
    port: modelPort,
    url,
    ...(Object.keys(modelHeaders).length > 0 && { headers: resolveEnv(modelHeaders, hostEnv, '--model-header') }),
  };
}
