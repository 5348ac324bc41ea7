import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fakeJobConfig } from '../testing/fakes.ts';
import { agentConfig } from './agent.ts';
import { modelEnv, modelReach } from './model.ts';

const job = (command: string, modelUrl: string | null) => {
  const config = fakeJobConfig();
  return {
    ...config,
    agents: [agentConfig(command, { model: 'maker/m1' })],
    vivarium: { ...config.vivarium, modelUrl, modelPort: 8000, modelHeaders: {} },
  };
};

test('inside, the model answers on localhost, with keys that open nothing', () => {
  const config = job('my-agent', 'http://10.0.0.5:9000/v1/');
  assert.deepEqual(modelEnv(config), {
    MODEL: 'maker/m1',
    VIV_MODEL: 'maker/m1',
    OPENAI_BASE_URL: 'http://localhost:8000/v1',
    ANTHROPIC_BASE_URL: 'http://localhost:8000',
    OPENAI_API_KEY: 'vivarium',
    ANTHROPIC_API_KEY: 'vivarium',
  });
  assert.deepEqual(modelReach(config, {}), { port: 8000, url: 'http://10.0.0.5:9000' });
});

test('an agent beside the sandbox gets the address itself and keeps its own keys', () => {
  const { MODEL, VIV_MODEL, ...rest } = modelEnv(job('host: my-agent', 'http://10.0.0.5:9000/v1'));
  assert.deepEqual({ MODEL, VIV_MODEL }, { MODEL: 'maker/m1', VIV_MODEL: 'maker/m1' });
  assert.deepEqual(rest, {
    OPENAI_BASE_URL: 'http://10.0.0.5:9000/v1',
    ANTHROPIC_BASE_URL: 'http://10.0.0.5:9000',
  });
});

test('without an address only the name of the model is told', () => {
  assert.deepEqual(Object.keys(modelEnv(job('my-agent', null))), ['MODEL', 'VIV_MODEL']);
});

test('an agent is named for its program, whatever stands around it', () => {
  const name = (command: string) => agentConfig(command).name;
  assert.equal(name('A=1 /opt/my-agent --quiet'), 'my-agent');
  assert.equal(name('cat; echo done'), 'cat');
  assert.equal(name('"my agent"'), 'my');
  assert.equal(name('((1))'), '1');
  assert.equal(name('()'), 'agent');
});
