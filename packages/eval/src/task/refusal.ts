import { taskInvalid, taskRefused } from './complaint.ts';
import type { EnvironmentToml, TaskToml, VerifierToml } from './schema.ts';
import type { TaskWarning } from './task.ts';
import type { TomlFile } from './toml-file.ts';

type Network = Pick<EnvironmentToml, 'network_mode' | 'allowed_hosts'>;
type Server = NonNullable<EnvironmentToml['mcp_servers']>[number];

/**
 * Refuses (`task_refused`) what would run differently here from what the task says, and notes what is only narrower: a
 * sandbox has no network, so `public` gives none. Contradictions within the document are `task_invalid`.
 */
export function refuse(task: TaskToml, toml: TomlFile, warnings: TaskWarning[]): void {
  const at = (field: string) => ({ file: toml.file, field, line: toml.lineOf([field]) });

  environment(task.environment ?? {}, 'environment');
  isolation();
  network(task.agent ?? {}, 'agent');
  verifier(task.verifier ?? {}, 'verifier');
  for (const [n, step] of (task.steps ?? []).entries()) {
    network(step.agent ?? {}, `steps[${n}].agent`);
    verifier(step.verifier ?? {}, `steps[${n}].verifier`);
  }

  /** What `verify` would refuse later, as far as task.toml tells. */
  function isolation(): void {
    if (task.vivarium?.isolation !== 'black_box') return;
    const users = [task.agent?.user, ...(task.steps ?? []).map((step) => step.agent?.user)];
    if (!users.some((user) => user !== undefined && /^(root|0)(:|$)/.test(user))) return;
    const message = 'is "black_box", but the agent is root, who reads and writes everything; name another agent.user';
    throw taskInvalid(at('vivarium.isolation'), message);
  }

  function verifier(table: VerifierToml, field: string): void {
    network(table, field);
    if (table.environment === undefined) return;
    if (table.environment_mode === 'shared') {
      throw taskInvalid(at(`${field}.environment_mode`), `is "shared", but there is a table [${field}.environment]`);
    }
    environment(table.environment, `${field}.environment`);
  }

  function environment(table: EnvironmentToml, field: string): void {
    if (table.os !== undefined && table.os !== 'linux')
      throw taskRefused(at(`${field}.os`), `"${table.os}" is not offered; sandboxes run Linux`);
    if ((table.gpus ?? 0) > 0)
      throw taskRefused(at(`${field}.gpus`), `asks for ${table.gpus} GPU(s); sandboxes have none`);
    if ((table.gpu_types ?? []).length > 0)
      warnings.push({ file: toml.file, field: `${field}.gpu_types`, message: 'is ignored: no GPU is asked for' });
    network(table, field);
    for (const [n, server] of (table.mcp_servers ?? []).entries()) mcpServer(server, `${field}.mcp_servers[${n}]`);
  }

  function network({ network_mode: mode, allowed_hosts: hosts = [] }: Network, field: string): void {
    if (hosts.length > 0 && mode !== undefined && mode !== 'allowlist')
      throw taskInvalid(at(`${field}.allowed_hosts`), `is for network_mode "allowlist" only, which is "${mode}"`);
    if (hosts.length > 0) {
      const hint = 'Sandboxes have no network. If the task works without, set network_mode = "no-network".';
      throw taskRefused(at(`${field}.allowed_hosts`), `asks for ${hosts.length} reachable host(s)`, hint);
    }
    if (mode !== 'public') return;
    const message = 'is "public", but sandboxes have no network; what needs one fails';
    warnings.push({ file: toml.file, field: `${field}.network_mode`, message });
  }

  /** A server that the agent starts itself works; one elsewhere needs a network. */
  function mcpServer({ transport = 'sse', command, url }: Server, field: string): void {
    if (transport === 'stdio') {
      if (command === undefined) throw taskInvalid(at(field), 'has no command, which transport "stdio" needs');
      return;
    }
    if (url === undefined) throw taskInvalid(at(field), `has no url, which transport "${transport}" needs`);
    const host = URL.canParse(url) ? new URL(url).hostname : undefined;
    if (host === undefined) throw taskInvalid(at(`${field}.url`), `"${url}" is no URL`);
    if (!['localhost', '127.0.0.1', '[::1]'].includes(host))
      throw taskRefused(at(`${field}.url`), `"${url}" is outside the sandbox, which has no network`);
  }
}
