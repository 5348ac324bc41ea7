import { readFileSync } from 'node:fs';
import { Vivarium } from '@vivarium/sdk';
import { writeLogin } from '@vivarium/sdk/node/login-file.ts';
import type { Command } from 'commander';
import { bad } from '../complaint.ts';
import { interactive, note } from '../console.ts';
import { readSecret } from '../secret-prompt.ts';

type Flags = { key?: string; apiKey?: string };

export function define(command: Command): void {
  command
    .argument('<url>', 'of the server, as http://host:7700')
    .option('--key <key>', 'API key (better: let viv ask for it, pipe it in, or VIV_API_KEY)')
    .action(login);
}

async function login(given: string, flags: Flags): Promise<void> {
  const url = /^https?:\/\//.test(given) ? given : `http://${given}`;
  const apiKey = flags.key ?? flags.apiKey ?? (process.env.VIV_API_KEY || (await ask()));
  const viv = new Vivarium({ url, apiKey, retryMs: 0 });
  const node = await viv.node();
  const file = writeLogin({ url: viv.url, apiKey });
  note(`viv: logged in to ${viv.url} (version ${node.version}); kept in ${file}`);
}

async function ask(): Promise<string> {
  if (interactive.stdin) return readSecret('API key: ');
  const piped = readFileSync(0, 'utf8').trim();
  if (piped === '') throw bad('no API key given', 'Pipe it in, pass --key KEY or set VIV_API_KEY.');
  return piped;
}
