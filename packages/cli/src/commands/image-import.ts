import { createReadStream, statSync } from 'node:fs';
import { type Image, type ImportConfig, type ImportOptions, type Vivarium, VivError } from '@vivarium/sdk';
import { packTree } from '@vivarium/sdk/node';
import { type Command, Option } from 'commander';
import { bad } from '../complaint.ts';
import type { ConnectionOptions } from '../connection.ts';
import { note, print, printJson } from '../console.ts';
import { withServer } from '../one.ts';
import { ProgressLine } from '../progress.ts';
import { collectEnv, formatBytes } from '../units.ts';

type Json = ConnectionOptions & { json?: boolean };
type ImportFlags = Json & {
  debootstrap?: string;
  include?: string[];
  variant?: 'minbase' | 'apt' | 'standard' | 'essential';
  base?: boolean;
  oci?: string;
  registry?: string;
  ref?: string;
  dir?: string;
  tar?: string;
  env?: Record<string, string>;
  workdir?: string;
  user?: string;
  quiet?: boolean;
};
type PullFlags = Json & { as?: string; quiet?: boolean };

/** `viv image import` and `viv image pull`. */
export function defineImport(command: Command): void {
  command
    .command('import <name>')
    .description('make the image NAME@VERSION from a Debian suite, a directory, a tar or an OCI image')
    .optionsGroup('From (one of):')
    .option('--debootstrap <suite>', 'a Debian or Ubuntu suite, made on the node')
    .option('--dir <dir>', 'a local directory')
    .option('--tar <file>', 'a local tar (not compressed), - for standard input')
    .option('--oci <dir|tar>', 'an OCI layout or a docker-save archive (plain, gzip, zstd), - for standard input')
    .option('--registry <ref>', 'an image of a registry, HOST/PATH:TAG, brought by the node')
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
    .option('--ref <ref>', 'with --oci: which image of several, by its name, tag or digest')
    .option('-e, --env <name=value>', 'environment of its sandboxes (repeatable)', collectEnv)
    .option('-w, --workdir <dir>', 'where commands start')
    .option('-u, --user <user>', 'who commands run as')
    .option('-q, --quiet', 'no progress')
    .option('--json', 'print the image')
    .action((name: string, flags: ImportFlags) =>
      withServer(flags, (viv) => showing(flags, (line) => importImage(viv, name, flags, line))),
    );
  command
    .command('pull <ref>')
    .description('bring an image from a registry, as the first create of a sandbox from it does')
    .option('--as <name>', 'its name here, NAME@VERSION (default: oci/HOST/PATH@TAG)')
    .option('-q, --quiet', 'no progress')
    .option('--json', 'print the image')
    .action((ref: string, flags: PullFlags) =>
      withServer(flags, (viv) =>
        showing(flags, (line) => viv.images.pull(ref, { ...control(line), ...(flags.as && { name: flags.as }) })),
      ),
    );
}

async function showing(flags: Json & { quiet?: boolean }, work: (line: ProgressLine) => Promise<Image>): Promise<void> {
  const line = new ProgressLine(flags.quiet);
  try {
    const image = await work(line);
    line.end();
    if (flags.json) printJson(image);
    else print(`${image.name}  ${formatBytes(image.sizeBytes)}  ${image.digest}`);
  } catch (error) {
    line.end();
    const output = error instanceof VivError ? error.details.output : undefined;
    if (typeof output === 'string' && output !== '') note(output.trimEnd());
    throw error;
  }
}

/** Progress on the line; Ctrl-C ends the work. */
function control(line: ProgressLine): ImportOptions {
  const abort = new AbortController();
  process.once('SIGINT', () =>
    abort.abort(new VivError('import_failed', 'interrupted', { hint: 'Nothing was kept.' })),
  );
  return {
    signal: abort.signal,
    onProgress: ({ stage, message, done, total }) =>
      line.update(stage, `${stage}: ${message}${total ? ` (${Math.floor((100 * (done ?? 0)) / total)} %)` : ''}`),
  };
}

async function importImage(viv: Vivarium, name: string, flags: ImportFlags, line: ProgressLine): Promise<Image> {
  const { debootstrap, dir, tar, oci, registry, base } = flags;
  const sources = [debootstrap, dir, tar, oci, registry, base].filter((source) => source !== undefined);
  if (sources.length !== 1)
    throw bad(
      'name one source',
      'One of --debootstrap SUITE, --dir DIR, --tar FILE, --oci DIR|TAR, --registry REF and --base.',
    );
  const options = control(line);
  const { env, workdir: cwd, user } = flags;
  const config: ImportConfig = { ...(env && { env }), ...(cwd && { cwd }), ...(user && { user }) };
  if (oci !== undefined)
    return viv.images.importOci(name, ociArchive(oci), { ...options, config, ...(flags.ref && { ref: flags.ref }) });
  if (registry !== undefined) return viv.images.pull(registry, { ...options, name, config });
  if (flags.dir !== undefined)
    return viv.images.importTar(name, packTree(flags.dir, { owners: true }), { ...options, config });
  if (flags.tar !== undefined)
    return viv.images.importTar(name, flags.tar === '-' ? process.stdin : createReadStream(flags.tar), {
      ...options,
      config,
    });
  if (flags.base) return viv.images.import({ name, source: { type: 'builtin', name: 'base' }, config }, options);
  const { include, variant } = flags;
  return viv.images.import(
    {
      name,
      source: { type: 'debootstrap', suite: debootstrap!, ...(include && { include }), ...(variant && { variant }) },
      config,
    },
    options,
  );
}

/** A directory travels as a tar of its own. */
function ociArchive(path: string) {
  if (path === '-') return process.stdin;
  return statSync(path).isDirectory() ? packTree(path) : createReadStream(path);
}
