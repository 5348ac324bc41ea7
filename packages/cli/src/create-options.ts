import type { CreateOptions } from '@vivarium/sdk';
import { type Command, InvalidArgumentError, Option } from 'commander';
import { bad } from './complaint.ts';
import { collectPair, parseCount, parseMiB, parseNumber, parseSeconds } from './units.ts';

export type CreateFlags = {
  name?: string;
  label?: Record<string, string>;
  kind?: CreateOptions['kind'];
  cpus?: number;
  cpuWeight?: number;
  memory?: number;
  disk?: number;
  pids?: number;
  nofile?: number;
  ttl?: number;
  idle?: number;
  onTimeout?: 'kill' | 'pause';
  pauseMemory?: boolean;
  autoResume?: boolean;
  metadata?: Record<string, string>;
  reach?: NonNullable<CreateOptions['reach']>;
  volume?: NonNullable<CreateOptions['volumes']>;
  lease?: string;
  idempotencyKey?: string;
};

/** The options that `run` and `create` share. */
export function addCreateOptions(command: Command): void {
  command
    .optionsGroup('Sandbox:')
    .option('--name <name>', 'a name, also the host name inside')
    .option('-l, --label <name=value>', 'a label (repeatable)', collectPair)
    .option('--metadata <name=value>', 'anything you want to find it by (repeatable)', collectPair)
    .addOption(new Option('--kind <kind>', 'what it runs in').choices(['container', 'fn', 'microvm', 'vm']))
    .option('--ttl <time>', 'ends this long after creation (default 1h)', parseSeconds)
    .option('--idle <time>', 'ends after this long without traffic', parseSeconds)
    .addOption(new Option('--on-timeout <what>', 'what --ttl and --idle do').choices(['kill', 'pause']))
    .option('--no-pause-memory', 'with --on-timeout pause: its processes end then, its files stay')
    .option('--auto-resume', 'while it is paused, commands, file calls and port connections resume it')
    .option('--lease <id>', 'the lease that owns it')
    .option(
      '--reach <port=url>',
      'an endpoint on the host side that answers on localhost:PORT inside (repeatable)',
      collectReach,
    )
    .option('--volume <name:path[:ro]>', 'a volume and where to mount it (repeatable)', collectVolume)
    .option('--idempotency-key <key>', 'the same key returns the first result')
    .optionsGroup('Limits:')
    .option('--cpus <n>', 'CPUs (default 2)', parseNumber)
    .option('--cpu-weight <n>', 'share when CPUs are short (default 100)', parseCount)
    .option('--memory <size>', 'memory (default 1g)', parseMiB)
    .option('--disk <size>', 'disk it may write (default 4g)', parseMiB)
    .option('--pids <n>', 'processes and threads (default 512)', parseCount)
    .option('--nofile <n>', 'open files per process (default 4096)', parseCount)
    .optionsGroup('Options:');
}

/** What the server is asked for. Absent options are left to its defaults. */
export function createRequest(image: string, flags: CreateFlags, more: Partial<CreateOptions> = {}): CreateOptions {
  const limits = compact({
    cpus: flags.cpus,
    cpuWeight: flags.cpuWeight,
    memoryMiB: flags.memory,
    diskMiB: flags.disk,
    pids: flags.pids,
    nofile: flags.nofile,
  });
  const { name, kind, onTimeout, reach, lease, autoResume, metadata } = flags;
  return {
    image,
    ...compact({
      name,
      kind,
      onTimeout,
      pauseMemory: flags.pauseMemory === false ? false : undefined,
      autoResume,
      metadata,
      reach,
      lease,
      volumes: flags.volume,
      labels: flags.label,
      ttlS: whole(flags.ttl),
      idleTimeoutS: whole(flags.idle),
    }),
    ...(Object.keys(limits).length > 0 && { limits }),
    ...compact(more),
  };
}

/** `8000=http://trainer:8000`, or `http://trainer:8000` for the same port. */
export function collectReach(
  text: string,
  all: NonNullable<CreateOptions['reach']> = [],
): NonNullable<CreateOptions['reach']> {
  const match = /^(\d+)=(https?:\/\/.+)$/.exec(text);
  if (!match) throw new InvalidArgumentError(`write PORT=http://HOST:PORT, not ${text}`);
  if (!URL.canParse(match[2]!)) throw bad(`no URL: ${match[2]}`);
  return [...all, { port: Number(match[1]), url: match[2]! }];
}

/** `data:/mnt/data`, or `data:/mnt/data:ro` to read only. */
export function collectVolume(
  text: string,
  all: NonNullable<CreateOptions['volumes']> = [],
): NonNullable<CreateOptions['volumes']> {
  const match = /^([A-Za-z0-9_-]+):(\/.+?)(?::(ro|rw))?$/.exec(text);
  if (!match) throw new InvalidArgumentError(`write NAME:/path or NAME:/path:ro, not ${text}`);
  return [...all, { name: match[1]!, path: match[2]!, ...(match[3] === 'ro' && { readOnly: true }) }];
}

function whole(seconds: number | undefined): number | undefined {
  return seconds === undefined ? undefined : Math.ceil(seconds);
}

function compact<T extends Record<string, unknown>>(fields: T): Partial<T> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Partial<T>;
}
