import { DEFAULT_URL, e2bSecret } from '@vivarium/sdk';
import { checkedDomain } from '@vivarium/sdk/domain.ts';
import { localConnection } from '@vivarium/sdk/node/local-connection.ts';
import type { Command } from 'commander';
import { bad } from '../complaint.ts';
import type { ConnectionOptions } from '../connection.ts';
import { print, printJson } from '../console.ts';

type Flags = ConnectionOptions & { domain?: string; json?: boolean };

export function define(command: Command): void {
  command
    .command('env')
    .description('variables by which E2B clients find this server: eval "$(viv e2b env)"')
    .option('--domain <domain>', 'sandboxes by host name over HTTPS, as of `viv up --domain` (may end with :PORT)')
    .option('--json', 'one JSON object')
    .action((flags: Flags) => {
      const variables = clientVariables(flags);
      if (flags.json) return printJson(variables);
      for (const [name, value] of Object.entries(variables)) print(`export ${name}=${quoted(value)}`);
    });
}

function clientVariables(flags: Flags): Record<string, string> {
  const { url, apiKey } = localConnection(flags);
  if (!apiKey) throw bad('no API key is known for this server', 'Pass --api-key, set VIV_API_KEY, or `viv login URL`.');
  const key = { E2B_API_KEY: e2bSecret(apiKey) };
  if (flags.domain !== undefined) return { ...key, E2B_DOMAIN: checkedDomain(flags.domain) };
  const plain = (url ?? DEFAULT_URL).replace(/\/$/, '');
  return { ...key, E2B_API_URL: plain, E2B_SANDBOX_URL: plain, E2B_VOLUME_API_URL: plain };
}

/** For a POSIX shell. */
function quoted(text: string): string {
  return /^[\w./:@-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}
