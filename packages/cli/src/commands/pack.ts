import type { PackFinding, PackReport } from '@vivarium/sdk';
import type { Command } from 'commander';
import type { ConnectionOptions } from '../connection.ts';
import { print, printJson, style, visible } from '../console.ts';
import { withSandbox } from '../one.ts';
import { collectPair, formatBytes } from '../units.ts';

type Flags = ConnectionOptions & {
  label?: Record<string, string>;
  keep: string[];
  exclude: string[];
  scrub: boolean;
  keepTimes?: boolean;
  split?: string;
  protect: string[];
  json?: boolean;
};

/** Paths of a finding that are shown; the rest is counted. */
const PATHS_SHOWN = 3;

export function define(command: Command): void {
  command
    .argument('<sandbox>', 'id, beginning of an id, or name')
    .argument('<image>', 'NAME@VERSION to make')
    .option('-l, --label <name=value>', 'label of the image (repeatable)', collectPair)
    .option('--keep <glob>', 'keep residue that matches (repeatable)', collect, [])
    .option('--exclude <glob>', 'leave out what matches, as if it had not changed (repeatable)', collect, [])
    .option('--no-scrub', 'keep all residue: caches, logs, temporary files, histories, credentials')
    .option('--keep-times', 'keep file times exactly; otherwise the same change gives the same layer')
    .option('--split <image>', 'a second image, in which --protect paths are as they were')
    .option('--protect <glob>', 'path of the split image that is as it was (repeatable)', collect, [])
    .option('--json', 'print the report')
    .action((word: string, image: string, flags: Flags) =>
      withSandbox(word, flags, async (sandbox) => {
        const { keep, exclude, scrub, keepTimes, split, protect, label } = flags;
        const report = await sandbox.pack({
          image,
          keep,
          exclude,
          scrub: scrub ? 'default' : 'none',
          times: keepTimes ? 'kept' : 'fixed',
          ...(label && { labels: label }),
          ...(split !== undefined && { split: { image: split, protect } }),
        });
        if (flags.json) printJson(report);
        else printReport(report);
      }),
    );
}

function printReport({ image, layer, changed, removed, excluded, suspicious, split }: PackReport): void {
  const { added, changed: modified, deleted } = changed;
  const size = layer ? `${formatBytes(layer.sizeBytes)} layer` : 'nothing changed';
  print(`${image.name}  ${size}: ${added} added, ${modified} changed, ${deleted} deleted`);
  if (split) print(`${split.image.name}  without ${split.leftOutEntries} changes of protected paths`);
  for (const finding of removed) print(`${style.dim('removed')}   ${line(finding)}`);
  for (const finding of excluded) print(`${style.dim('excluded')}  ${line(finding)}`);
  for (const finding of suspicious) print(`${style.yellow('look at')}   ${line(finding)}`);
}

function line({ rule, reason, entries, bytes, paths }: PackFinding): string {
  const shown = paths.slice(0, PATHS_SHOWN).map(visible).join(' ');
  const rest = entries > Math.min(paths.length, PATHS_SHOWN) ? ' …' : '';
  return `${visible(rule)}: ${entries} entries, ${formatBytes(bytes)} (${reason}): ${shown}${rest}`;
}

function collect(text: string, all: string[]): string[] {
  return [...all, text];
}
