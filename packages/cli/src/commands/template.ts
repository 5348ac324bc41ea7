import { collect, type ImportProgress, VivError } from '@vivarium/sdk';
import type { Command } from 'commander';
import type { ConnectionOptions } from '../connection.ts';
import { note, print, printJson, table } from '../console.ts';
import { withServer } from '../one.ts';
import { ProgressLine } from '../progress.ts';
import { formatAge } from '../units.ts';

type Json = ConnectionOptions & { json?: boolean };

export function define(command: Command): void {
  command
    .command('install <name...>')
    .description('make templates that come with viv: base, code-interpreter-v1')
    .option('-q, --quiet', 'no progress')
    .option('--json', 'print the images')
    .action((names: string[], flags: Json & { quiet?: boolean }) =>
      withServer(flags, async (viv) => {
        const abort = new AbortController();
        process.once('SIGINT', () =>
          abort.abort(new VivError('import_failed', 'interrupted', { hint: 'Nothing was kept.' })),
        );
        const images = [];
        for (const name of names) {
          const line = new ProgressLine(flags.quiet);
          const onProgress = (progress: ImportProgress) => line.update(progress.stage, `${name}: ${progress.message}`);
          try {
            const image = await viv.templates.install(name, { onProgress, signal: abort.signal });
            line.end();
            images.push(image);
            if (!flags.json) print(`${name}\t${image.name}`);
          } catch (error) {
            line.end();
            const output = error instanceof VivError ? error.details.output : undefined;
            if (typeof output === 'string' && output !== '') note(output.trimEnd());
            throw error;
          }
        }
        if (flags.json) printJson(images);
      }),
    );
  command
    .command('ls')
    .description('list the templates of E2B clients')
    .option('--json', 'one JSON array')
    .action((flags: Json) =>
      withServer(flags, async (viv) => {
        const [builtins, own] = [await viv.templates.builtins(), await collect(viv.templates.list())];
        const installed = builtins.flatMap(({ name, image }) => (image ? [{ name, image }] : []));
        if (flags.json)
          return printJson([...installed.map(({ name, image }) => ({ names: [name], image: image.name })), ...own]);
        if (installed.length === 0)
          note('template base is not installed: viv template install base code-interpreter-v1');
        const rows = [
          ...installed.map(({ name, image }) => [name, '-', 'ready', image.name, formatAge(image.createdAt)]),
          ...own.map(({ names, templateID, buildStatus, buildID, updatedAt }) => [
            names.join(', '),
            templateID,
            buildStatus,
            buildID === '' ? '-' : `e2b/${templateID}@${buildID}`,
            formatAge(updatedAt),
          ]),
        ];
        if (rows.length > 0) print(table(['NAME', 'ID', 'STATUS', 'IMAGE', 'AGE'], rows));
      }),
    );
  command
    .command('inspect <template...>')
    .description('templates and their builds, as JSON')
    .option('--json', 'accepted for symmetry: the answer always is JSON')
    .action((names: string[], flags: Json) =>
      withServer(flags, async (viv) => {
        const builtins = await viv.templates.builtins();
        const found = await Promise.all(
          names.map(async (name) => builtins.find((one) => one.name === name) ?? (await viv.templates.get(name))),
        );
        printJson(found.length === 1 ? found[0] : found);
      }),
    );
  command
    .command('rm <template...>')
    .description('remove templates, with their builds')
    .action((names: string[], flags: ConnectionOptions) =>
      withServer(flags, async (viv) => {
        for (const name of names) {
          const builtin = (await viv.templates.builtins()).find((one) => one.name === name);
          if (builtin?.image) await viv.images.remove(builtin.image.name);
          else await viv.templates.remove(name);
          print(name);
        }
      }),
    );
}
