import type { ListFilter, SandboxInfo, SandboxState } from '@vivarium/sdk';
import { type Command, Option } from 'commander';
import type { ConnectionOptions } from '../connection.ts';
import { note, print, printJson, style, table } from '../console.ts';
import { withServer } from '../one.ts';
import { collectPair, formatAge, formatSeconds } from '../units.ts';

type Flags = ConnectionOptions & {
  all?: boolean;
  state?: SandboxState[];
  label?: Record<string, string>;
  lease?: string;
  metadata?: Record<string, string>;
  image?: string[];
  kind?: NonNullable<ListFilter['kinds']>;
  oldestFirst?: boolean;
  quiet?: boolean;
  json?: boolean;
};

const LIVE: SandboxState[] = ['creating', 'running', 'pausing', 'paused', 'resuming', 'ending'];

const KINDS = ['container', 'fn', 'microvm', 'vm'];

export function define(command: Command): void {
  command
    .option('-a, --all', 'ended ones too')
    .addOption(new Option('--state <state...>', 'only those in these states').choices([...LIVE, 'ended', 'failed']))
    .option('-l, --label <name=value>', 'only those with this label (repeatable)', collectPair)
    .option('--lease <id>', 'only those of a lease')
    .option('--metadata <name=value>', 'only those with this metadata (repeatable)', collectPair)
    .option('--image <name...>', 'only those of these images')
    .addOption(new Option('--kind <kind...>', 'only those of these kinds (default: all but fn)').choices(KINDS))
    .option('--oldest-first', 'in the order in which they were created')
    .option('-q, --quiet', 'ids only')
    .option('--json', 'one JSON array')
    .action((flags: Flags) =>
      withServer(flags, async (viv) => {
        const states = flags.state ?? (flags.all ? undefined : LIVE);
        const { label: labels, lease, metadata, image: images } = flags;
        const all: SandboxInfo[] = [];
        for await (const { info } of viv.sandboxes.list({
          ...(states && { states }),
          ...(labels && { labels }),
          ...(lease && { lease }),
          ...(metadata && { metadata }),
          ...(images && { images }),
          ...(flags.kind && { kinds: flags.kind }),
          ...(flags.oldestFirst && { order: 'asc' as const }),
        }))
          all.push(info);
        if (flags.json) printJson(all);
        else if (flags.quiet) for (const { id } of all) print(id);
        else if (all.length > 0) print(sandboxTable(all));
        else note('no sandboxes');
      }),
    );
}

/** What a person wants to see of many sandboxes. */
export function sandboxTable(all: readonly SandboxInfo[], now = Date.now()): string {
  const rows = all.map((info) => [
    info.id,
    info.name ?? '',
    stateWord(info),
    info.image,
    formatAge(info.createdAt, now),
    info.expiresAt && info.endedAt === null
      ? formatSeconds(Math.max(0, Math.round((Date.parse(info.expiresAt) - now) / 1000)))
      : '',
    Object.entries(info.labels)
      .map(([name, value]) => `${name}=${value}`)
      .join(' '),
  ]);
  return table(['ID', 'NAME', 'STATE', 'IMAGE', 'AGE', 'ENDS IN', 'LABELS'], rows);
}

function stateWord({ state, endReason, cold }: SandboxInfo): string {
  if (state === 'paused' && cold) return style.yellow('paused (cold)');
  if (state === 'running') return style.green(state);
  if (state === 'failed') return style.red(state);
  if (state === 'ended') return style.dim(endReason ? `ended (${endReason})` : state);
  return style.yellow(state);
}
