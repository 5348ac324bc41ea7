import assert from 'node:assert/strict';
import { test } from 'node:test';
import { agentVariables } from './agent-variables.ts';
import { loadTask } from './load-task.ts';
import { taskDirectory } from './testing/task-directory.ts';

test('servers and skills reach the agent as variables', async (t) => {
  const toml = `[environment]\nskills_dir = "/skills"\n[[environment.mcp_servers]]\nname = "a"\ntransport = "stdio"\ncommand = "srv"\n[[environment.mcp_servers]]\nname = "b"\nurl = "http://localhost:1/sse"\n`;
  assert.deepEqual(agentVariables(await loadTask(await taskDirectory(t, { 'task.toml': toml }))), {
    VIV_MCP_SERVERS: JSON.stringify([
      { name: 'a', transport: 'stdio', command: 'srv', args: [] },
      { name: 'b', transport: 'sse', url: 'http://localhost:1/sse' },
    ]),
    VIV_SKILLS_DIR: '/skills',
  });
});

test('a task without them adds nothing', async (t) => {
  assert.deepEqual(agentVariables(await loadTask(await taskDirectory(t))), {});
});
