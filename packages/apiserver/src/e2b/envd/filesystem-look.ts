import type { Entry } from '@vivarium/protocol';
import type { EntryInfo } from '@vivarium/protocol/e2b/filesystem.ts';
import type { EnvdCall } from './envd-call.ts';
import { entryInfo, hasStrangers } from './filesystem-entry.ts';
import { type Actor, actingFor } from './filesystem-user.ts';

/** What is at a path, a link by itself. Throws as `stat`. */
export async function entryAt(call: EnvdCall, actor: Actor, path: string): Promise<EntryInfo> {
  const how = { ...actingFor(actor), follow: false, resolve: true };
  return infoOf(call, actor, await call.context.edge.files.stat(call.sandbox, Buffer.from(path), how), path);
}

/** An entry under the path that it was asked for with. */
export async function infoOf(call: EnvdCall, actor: Actor, entry: Entry, path: string): Promise<EntryInfo> {
  return entryInfo(entry, path, await namesFor(call, actor, [entry]));
}

/** Entries at their own paths. */
export async function infosOf(call: EnvdCall, actor: Actor, entries: readonly Entry[]): Promise<EntryInfo[]> {
  const accounts = await namesFor(call, actor, entries);
  return entries.map((entry) => entryInfo(entry, entry.path, accounts));
}

/** Who is who, read again where an owner has no name. */
async function namesFor({ context, sandbox }: EnvdCall, { accounts }: Actor, entries: readonly Entry[]) {
  return hasStrangers(entries, accounts) ? context.edge.files.accounts(sandbox, { fresh: true }) : accounts;
}
