import { isJobImage } from '@vivarium/eval';
import { collect, type Image } from '@vivarium/sdk';
import type { Command } from 'commander';
import type { ConnectionOptions } from '../connection.ts';
import { note, print, printJson, table } from '../console.ts';
import { withServer } from '../one.ts';
import { formatAge, formatBytes } from '../units.ts';
import { defineBuild } from './image-build.ts';
import { defineImport } from './image-import.ts';

type Json = ConnectionOptions & { json?: boolean };
export function define(command: Command): void {
  command
    .command('ls')
    .description('list images')
    .option('-a, --all', 'with the steps of builds, and what jobs made')
    .option('--json', 'one JSON array')
    .action((flags: Json & { all?: boolean }) =>
      withServer(flags, async (viv) => {
        const found = await collect(viv.images.list({ all: flags.all ?? false }));
        const images = flags.all ? found : found.filter(({ name }) => !isJobImage(name));
        if (flags.json) return printJson(images);
        const hidden = found.length - images.length;
        if (hidden > 0) note(`${hidden} ${hidden === 1 ? 'image' : 'images'} of tasks and trials not shown (--all)`);
        if (images.length === 0) note('no images; the base image base/debian@12 is made when it is first used');
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
