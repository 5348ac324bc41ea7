import type { Task } from './task.ts';

/**
 * What a task tells its agent besides the instruction: `VIV_MCP_SERVERS`, the servers as a JSON array (name, transport, url
 * or command and args), and `VIV_SKILLS_DIR`, a directory of the image. Nothing is started or copied: agents differ in how
 * they want it. Empty for a task that has neither.
 */
export function agentVariables(task: Task): Record<string, string> {
  const { mcpServers, skillsDir } = task.environment.config;
  const servers = mcpServers.map(({ name, transport, url, command, args }) =>
    transport === 'stdio' ? { name, transport, command, args } : { name, transport, url },
  );
  return {
    ...(servers.length > 0 && { VIV_MCP_SERVERS: JSON.stringify(servers) }),
    ...(skillsDir !== null && { VIV_SKILLS_DIR: skillsDir }),
  };
}
