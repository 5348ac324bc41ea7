import { removeLogin } from '@vivarium/sdk/node/login-file.ts';
import type { Command } from 'commander';
import { note } from '../console.ts';

export function define(command: Command): void {
  command.action(() => note(removeLogin() ? 'viv: logged out' : 'viv: there was no login'));
}
