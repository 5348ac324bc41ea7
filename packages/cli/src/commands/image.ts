import { createReadStream } from 'node:fs';
import { collect, type Image, type ImportConfig, type ImportOptions, type Vivarium, VivError } from '@vivarium/sdk';
import { packTree } from '@vivarium/sdk/node';
import { type Command, Option } from 'commander';
import { bad } from '../complaint.ts';
import type { ConnectionOptions } from '../connection.ts';
import { note, print, printJson, table } from '../console.ts';

import { withServer } from '../one.ts';
import { ProgressLine } from '../progress.ts';
import { collectEnv, formatAge, formatBytes } from '../units.ts';
import { defineBuild } from './image-build.ts';

type Json = ConnectionOptions & { json?: boolean };
type ImportFlags = Json & {
  debootstrap?: string;
  include?: string[];
  variant?: 'minbase' | 'apt' | 'standard' | 'essential';
  base?: boolean;
  dir?: string;
  tar?: string;
  env?: Record<string, string>;
  workdir?: string;
  user?: string;
  quiet?: boolean;
};

export function define(command: Command): void {
  command
    .command('ls')
    .description('list images')
    .option('-a, --all', 'with the steps of builds')
    .option('--json', 'one JSON array')
    .action((flags: Json & { all?: boolean }) =>
      withServer(flags, async (viv) => {
        const images = await collect(viv.images.list({ all: flags.all ?? false }));
        if (flags.json) printJson(images);
        else if (images.length === 0) note('no images; the base image base/debian@12 is made when it is first used');
        else print(imageTable(images));
      }),
    );
  command
    .command('inspect <name...>')
    .description('all about images, as JSON')
    .option('--json', 'accepted for symmetry: the answer always is JSON')
    .action((names: string[], flags: Json) =>
      withServer(flags, async (viv) => {
        const images = await Promise.all(names.map((name) => viv.images.get(name)));
        printJson(images.length === 1 ? images[0] : images);
      }),
    );
  command
    .command('rm <name...>')
    .description('remove images')
    .action((names: string[], flags: ConnectionOptions) =>
      withServer(flags, async (viv) => {
        for (const name of names) {
          await viv.images.remove(name);
          print(name);
        }
      }),
    );
  defineBuild(command);
  command
    .command('prune')
    .description('remove the cached steps of builds; built images stay')
    .option('--json', 'print what was removed as JSON')
    .action((flags: Json) =>
      withServer(flags, async (viv) => {
        const report = await viv.images.prune();
        if (flags.json) printJson(report);
        else print(`${report.removed.length} steps removed, ${formatBytes(report.bytes)} freed`);
      }),
    );
  defineImport(command);
}

function defineImport(command: Command): void {
  command
    .command('import <name>')
    .description('make the image NAME@VERSION from a Debian suite, a directory or a tar')
    .optionsGroup('From (one of):')
    .option('--debootstrap <suite>', 'a Debian or Ubuntu suite, made on the node')
    .option('--dir <dir>', 'a local directory')
    .option('--tar <file>', 'a local tar (not compressed), - for standard input')
    .option('--base', 'the base image that comes with viv')
    .optionsGroup('Options:')
    .option(
      '--include <packages>',
      'with --debootstrap: more packages, a,b,c (repeatable)',
      (text: string, all: string[] = []) => [...all, ...text.split(',').filter(Boolean)],
    )
    .addOption(
      new Option('--variant <variant>', 'with --debootstrap: how much').choices([
        'minbase',
        'apt',
        'standard',
        'essential',
      ]),
    )
    .option('-e, --env <name=value>', 'environment of its sandboxes (repeatable)', collectEnv)
    .option('-w, --workdir <dir>', 'where commands start')
    .option('-u, --user <user>', 'who commands run as')
    .option('-q, --quiet', 'no progress')
    .option('--json', 'print the image')
    .action((name: string, flags: ImportFlags) =>
      withServer(flags, async (viv) => {
        const line = new ProgressLine(flags.quiet);
        try {
          const image = await importImage(viv, name, flags, line);
          line.end();
          if (flags.json) printJson(image);
          else print(`${image.name}  ${formatBytes(image.sizeBytes)}  ${image.digest}`);
        } catch (error) {
          line.end();
          const output = error instanceof VivError ? error.details.output : undefined;
          if (typeof output === 'string' && output !== '') note(output.trimEnd());
          throw error;
        }
      }),
    );
}

async function importImage(viv: Vivarium, name: string, flags: ImportFlags, line: ProgressLine): Promise<Image> {
  const sources = [flags.debootstrap, flags.dir, flags.tar, flags.base].filter((source) => source !== undefined);
  if (sources.length !== 1)
    throw bad('name one source', 'One of --debootstrap SUITE, --dir DIR, --tar FILE and --base.');
  const abort = new AbortController();
  process.once('SIGINT', () =>
    abort.abort(new VivError('import_failed', 'interrupted', { hint: 'Nothing was kept.' })),
  );
  const options: ImportOptions = {
    signal: abort.signal,
    onProgress: ({ stage, message, done, total }) =>
      line.update(stage, `${stage}: ${message}${total ? ` (${Math.floor((100 * (done ?? 0)) / total)} %)` : ''}`),
  };
  const { env, workdir: cwd, user } = flags;
  const config: ImportConfig = { ...(env && { env }), ...(cwd && { cwd }), ...(user && { user }) };
  if (flags.dir !== undefined)
    return viv.images.importTar(name, packTree(flags.dir, { owners: true }), { ...options, config });
  if (flags.tar !== undefined)
    return viv.images.importTar(name, flags.tar === '-' ? process.stdin : createReadStream(flags.tar), {
      ...options,
      config,
    });
  if (flags.base) return viv.images.import({ name, source: { type: 'builtin', name: 'base' }, config }, options);
  const { debootstrap: suite, include, variant } = flags;
  return viv.images.import(
    {
      name,
      source: { type: 'debootstrap', suite: suite!, ...(include && { include }), ...(variant && { variant }) },
      config,
    },
    options,
  );
}

export function imageTable(images: readonly Image[]): string {
  const rows = images.map((image) => [
    image.name,
    formatBytes(image.sizeBytes),
    String(image.layers.length),
    formatAge(image.createdAt),
    image.digest.slice(7, 19),
  ]);
  return table(['NAME', 'SIZE', 'LAYERS', 'AGE', 'DIGEST'], rows);
}
