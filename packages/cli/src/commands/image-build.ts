import { readFileSync } from 'node:fs';
import { type BuildEvent, type BuildOptions, type Image, type Vivarium, VivError } from '@vivarium/sdk';
import { packContext } from '@vivarium/sdk/node';
import { type Command, Option } from 'commander';
import { bad } from '../complaint.ts';
import type { ConnectionOptions } from '../connection.ts';
import { note, print, printJson } from '../console.ts';
import { withBaseShown } from '../creation.ts';
import { withServer } from '../one.ts';
import { collectEnv, collectPair, formatBytes, parseCount, parseMiB, parseNumber, parseSeconds } from '../units.ts';

type BuildFlags = ConnectionOptions & {
  tag?: string[];
  file?: string;
  target?: string;
  buildArg?: Record<string, string>;
  label?: Record<string, string>;
  map?: Record<string, string>;
  mapFile?: string;
  network?: 'none' | 'node';
  cache: boolean;
  timeout?: number;
  cpus?: number;
  memory?: number;
  disk?: number;
  pids?: number;
  quiet?: boolean;
  json?: boolean;
};

/** `viv image build`. */
export function defineBuild(command: Command): void {
  command
    .command('build <dir>')
    .description('make an image from a Dockerfile; DIR is the build context')
    .option('-t, --tag <name>', 'the image to make, NAME@VERSION', (text: string, all: string[] = []) => [...all, text])
    .option('-f, --file <file>', 'the Dockerfile (default: DIR/Dockerfile)')
    .option('--target <stage>', 'build this stage')
    .option('--build-arg <name=value>', 'value of an ARG (repeatable; NAME alone: its value here)', collectEnv)
    .option('--label <name=value>', 'label of the image (repeatable)', collectPair)
    .option('--map <ref=image>', 'a local image that FROM REF stands for (repeatable; * matches in REF)', collectPair)
    .option('--map-file <file>', 'the same from a JSON object')
    .addOption(
      new Option(
        '--network <network>',
        'none, or node: RUN steps share the node’s own network (needs an admin key)',
      ).choices(['none', 'node']),
    )
    .option('--no-cache', 'run every step again')
    .optionsGroup('Limits of each step:')
    .option('--timeout <time>', 'of the whole build (default 10m)', parseSeconds)
    .option('--cpus <n>', 'CPUs (default 4)', parseNumber)
    .option('--memory <size>', 'memory (default 4g)', parseMiB)
    .option('--disk <size>', 'what it may write (default 16g)', parseMiB)
    .option('--pids <n>', 'processes (default 4096)', parseCount)
    .optionsGroup('Options:')
    .option('-q, --quiet', 'no progress')
    .option('--json', 'print the image as JSON')
    .action((directory: string, flags: BuildFlags) =>
      withServer(flags, async (viv) => {
        const image = await build(viv, directory, flags);
        if (flags.json) printJson(image);
        else print(`${image.name}  ${formatBytes(image.sizeBytes)}  ${image.digest}`);
      }),
    );
}

async function build(viv: Vivarium, directory: string, flags: BuildFlags): Promise<Image> {
  const [name, second] = flags.tag ?? [];
  if (name === undefined) throw bad('name the image', 'Add -t NAME@VERSION.');
  if (second !== undefined)
    throw bad('one image has one name', 'Give -t once; build again with another name: it is instant.');
  const abort = new AbortController();
  process.once('SIGINT', () =>
    abort.abort(new VivError('build_failed', 'interrupted', { hint: 'Complete steps are kept.' })),
  );
  const show = flags.quiet ? () => {} : shown();
  const make = async () =>
    viv.images.build({
      name,
      ...(await packContext(directory, { dockerfile: flags.file })),
      ...options(flags),
      signal: abort.signal,
      onProgress: show,
    });
  try {
    return await withBaseShown(viv, make, flags.quiet, abort.signal);
  } catch (error) {
    const output = error instanceof VivError ? error.details.output : undefined;
    if (flags.quiet && typeof output === 'string' && output !== '') note(output.trimEnd());
    throw error;
  }
}

function options(flags: BuildFlags): Omit<BuildOptions, 'name' | 'context'> {
  const limits = {
    ...(flags.cpus !== undefined && { cpus: flags.cpus }),
    ...(flags.memory !== undefined && { memoryMiB: flags.memory }),
    ...(flags.disk !== undefined && { diskMiB: flags.disk }),
    ...(flags.pids !== undefined && { pids: flags.pids }),
  };
  return {
    ...(flags.target !== undefined && { target: flags.target }),
    ...(flags.buildArg && { buildArgs: flags.buildArg }),
    ...(flags.label && { labels: flags.label }),
    map: { ...(flags.mapFile === undefined ? {} : readMap(flags.mapFile)), ...flags.map },
    ...(flags.network && { network: flags.network }),
    ...(!flags.cache && { noCache: true }),
    ...(flags.timeout !== undefined && { timeoutMs: Math.round(flags.timeout * 1000) }),
    limits,
  };
}

/** Steps and what they say, on stderr, one line after the other: builds are read afterwards. */
function shown(): (event: BuildEvent) => void {
  let atStart = true;
  const line = (text: string) => {
    process.stderr.write(`${atStart ? '' : '\n'}${text}\n`);
    atStart = true;
  };
  return (event) => {
    if (event.type === 'output') {
      process.stderr.write(event.text);
      if (event.text !== '') atStart = event.text.endsWith('\n');
    } else if (event.type === 'warning')
      line(`warning: ${event.line === null ? '' : `line ${event.line}: `}${event.message}`);
    else if (event.cached === null) line(`[${event.index}/${event.total}] ${event.instruction.split('\n')[0]}`);
    else if (event.cached && /^(RUN|COPY|ADD)\b/i.test(event.instruction))
      line(`[${event.index}/${event.total}] cached`);
    else if (!event.cached && event.ms !== null)
      line(`[${event.index}/${event.total}] done in ${(event.ms / 1000).toFixed(1)} s`);
  };
}

function readMap(file: string): Record<string, string> {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as Record<string, string>;
  } catch (error) {
    throw bad(
      `${file} can't be read as a map: ${(error as Error).message}`,
      'It is one JSON object: {"python:3.12": "base/debian@12"}.',
    );
  }
}
