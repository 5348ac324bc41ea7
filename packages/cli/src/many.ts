import type { Sandbox, Vivarium } from '@vivarium/sdk';
import type { Command } from 'commander';
import { bad, complain } from './complaint.ts';
import { type ConnectionOptions, connect } from './connection.ts';
import { print, printLine } from './console.ts';
import { findSandboxes } from './sandbox-name.ts';
import { collectPair } from './units.ts';
import { Exit } from './verb-program.ts';

type Flags = ConnectionOptions & { all?: boolean; label?: Record<string, string>; json?: boolean };

/** At once, so that ending thousands takes seconds and the server is not flooded. */
const AT_ONCE = 32;

/** A verb that does one thing to sandboxes named, labelled, or all. `act` gets the flags that the verb has beside these. */
export function defineMany<More extends object>(
  command: Command,
  act: (sandbox: Sandbox, flags: More) => Promise<Sandbox>,
): void {
  command
    .argument('[sandbox...]', 'ids, beginnings of ids, or names')
    .option('-a, --all', 'all live sandboxes')
    .option('-l, --label <name=value>', 'those with this label (repeatable: all must fit)', collectPair)
    .option('--json', 'a line of JSON per sandbox')
    .action(async (words: string[], flags: Flags & More) => {
      const viv = connect(flags);
      try {
        const failures = await actOn(
          await choose(viv, words, flags),
          (sandbox) => act(sandbox, flags),
          flags.json ?? false,
        );
        if (failures.length > 0) throw new Exit(Math.max(...failures));
      } finally {
        viv.close();
      }
    });
}

async function choose(viv: Vivarium, words: string[], flags: Flags): Promise<Sandbox[]> {
  const byFilter = flags.all || flags.label !== undefined;
  if (words.length > 0 && byFilter) throw bad('name sandboxes, or use --all or --label, not both');
  if (words.length > 0) return findSandboxes(viv, words);
  if (!byFilter) throw bad('no sandbox named', 'Name one or more, or use --all or --label NAME=VALUE.');
  const all: Sandbox[] = [];
  const filter = { states: ['creating', 'running', 'pausing', 'paused', 'resuming'] as const, labels: flags.label };
  for await (const sandbox of viv.sandboxes.list({
    states: [...filter.states],
    ...(filter.labels && { labels: filter.labels }),
  }))
    all.push(sandbox);
  return all;
}

/** One failure does not stop the others. Returns their exit codes. */
async function actOn(
  sandboxes: Sandbox[],
  act: (sandbox: Sandbox) => Promise<Sandbox>,
  json: boolean,
): Promise<number[]> {
  const failures: number[] = [];
  const queue = sandboxes.values();
  const worker = async () => {
    for (const sandbox of queue) {
      try {
        const done = await act(sandbox);
        json ? printLine(done.info) : print(done.id);
      } catch (error) {
        failures.push(complain(error));
      }
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
  return failures;
}
