import type { Sandbox, Vivarium } from '@vivarium/sdk';
import { bad } from './complaint.ts';

const ID = /^[a-z0-9]{20}$/;

/** A sandbox by id, unique beginning of an id, or name. A whole id costs no request. */
export async function findSandbox(viv: Vivarium, word: string): Promise<Sandbox> {
  return ID.test(word) ? viv.sandboxes.ref(word) : (await findSandboxes(viv, [word]))[0]!;
}

/** Several, with one look at the list. */
export async function findSandboxes(viv: Vivarium, words: readonly string[]): Promise<Sandbox[]> {
  if (words.every((word) => ID.test(word))) return words.map((word) => viv.sandboxes.ref(word));
  const all: Sandbox[] = [];
  for await (const sandbox of viv.sandboxes.list()) all.push(sandbox);
  return words.map((word) => (ID.test(word) ? viv.sandboxes.ref(word) : pick(all, word)));
}

/** Live ones win over ended ones; a name wins over the beginning of an id. */
export function pick(all: readonly Sandbox[], word: string): Sandbox {
  const live = (sandbox: Sandbox) => sandbox.state !== 'ended' && sandbox.state !== 'failed';
  const named = all.filter((sandbox) => sandbox.info.name === word);
  const begun = all.filter((sandbox) => sandbox.id.startsWith(word));
  for (const group of [named.filter(live), begun.filter(live), named, begun]) {
    if (group.length === 1) return group[0]!;
    if (group.length > 1)
      throw bad(`\`${word}\` fits ${group.length} sandboxes: ${ids(group)}`, 'Give more of the id.');
  }
  throw bad(
    `no sandbox is called \`${word}\` and no id begins so`,
    '`viv ls` shows the sandboxes that exist.',
    'sandbox_not_found',
  );
}

function ids(sandboxes: readonly Sandbox[]): string {
  const shown = sandboxes.slice(0, 4).map((sandbox) => sandbox.id);
  return shown.join(', ') + (sandboxes.length > 4 ? ', …' : '');
}
