import { posix } from 'node:path';
import type { Account, Accounts } from '@vivarium/edge/edge.ts';
import { VivError } from '@vivarium/protocol';
import type { EnvdCall } from './envd-call.ts';

/** Whose files a call is about, and who else there is. */
export type Actor = { account: Account; accounts: Accounts };

/** How files are touched for a user: clients may name any user, root too, so permissions keep them from nothing; what is made is the user's. */
export type ActingFor = { user: string; privileged: true };

/** The user that the call names. Throws `unauthenticated` for one that the sandbox does not have. */
export async function actorOf({ context, sandbox, user }: EnvdCall): Promise<Actor> {
  let accounts = await context.edge.files.accounts(sandbox);
  let account = accounts.users.get(user);
  if (!account) {
    accounts = await context.edge.files.accounts(sandbox, { fresh: true });
    account = accounts.users.get(user);
  }
  if (!account)
    throw new VivError('unauthenticated', `invalid username: '${user.slice(0, 100)}' is not in the sandbox`);
  return { account, accounts };
}

export function actingFor({ account }: Actor): ActingFor {
  return { user: account.name, privileged: true };
}

/** Absolute: `~` and relative paths begin at the user's home, an empty one is it. Absolute ones stay as they are. Throws `invalid_argument`. */
export function resolvePath(path: string, { account }: Actor): string {
  if (path.startsWith('/')) return path;
  if (/^~[^/]/.test(path))
    throw new VivError('invalid_argument', `${path.slice(0, 200)}: cannot expand the home directory of another user`);
  return posix.join('/', account.home, path.startsWith('~') ? path.slice(1) : path).replace(/(?<=.)\/$/, '');
}

/** The last component. */
export function nameOf(path: string): string {
  return posix.basename(path) || '/';
}
