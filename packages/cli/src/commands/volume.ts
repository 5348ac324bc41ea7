import { collect, type Volume } from '@vivarium/sdk';
import type { Command } from 'commander';
import { bad } from '../complaint.ts';
import type { ConnectionOptions } from '../connection.ts';
import { print, printJson, table } from '../console.ts';
import { inVolume } from '../copy.ts';
import { withServer } from '../one.ts';
import { formatAge, formatBytes, parseCount, parseMiB } from '../units.ts';
import { type CopySide, copy, showCopy } from './cp.ts';

type Json = ConnectionOptions & { json?: boolean };
type CopyFlags = Json & { uid?: number; gid?: number; quiet?: boolean };

const MIB = 1_048_576;
/** `NAME:/path`; a local path that has a colon is written with `./` before it. */
const SIDE = /^([A-Za-z0-9_-]{1,128}):(.*)$/s;

export function define(command: Command): void {
  command
    .command('create <name>')
    .description('make a volume')
    .option('--size <size>', 'what it can hold (default 10g)', parseMiB)
    .option('--json', 'print it as JSON')
    .action((name: string, flags: Json & { size?: number }) =>
      withServer(flags, async (viv) => {
        const volume = await viv.volumes.create({ name, ...(flags.size !== undefined && { sizeMiB: flags.size }) });
        flags.json ? printJson(volume) : print(volume.name);
      }),
    );
  command
    .command('ls')
    .description('list volumes')
    .option('--json', 'one JSON array')
    .action((flags: Json) =>
      withServer(flags, async (viv) => {
        const volumes = await collect(viv.volumes.list());
        if (flags.json) printJson(volumes);
        else print(volumeTable(volumes));
      }),
    );
  command
    .command('inspect <volume...>')
    .description('all about volumes, as JSON')
    .option('--json', 'accepted for symmetry: the answer always is JSON')
    .action((names: string[], flags: Json) =>
      withServer(flags, async (viv) => {
        const volumes = await Promise.all(names.map((name) => viv.volumes.get(name)));
        printJson(volumes.length === 1 ? volumes[0] : volumes);
      }),
    );
  command
    .command('rm <volume...>')
    .description('remove volumes and all that is in them')
    .action((names: string[], flags: ConnectionOptions) =>
      withServer(flags, async (viv) => {
        for (const name of names) {
          await viv.volumes.remove(name);
          print(name);
        }
      }),
    );
  defineCopy(command);
}

function defineCopy(command: Command): void {
  command
    .command('cp <source> <target>')
    .description('copy files and directories into and out of volumes, without a sandbox')
    .option('--uid <n>', 'owner of what arrives in a volume (default 1000)', parseCount)
    .option('--gid <n>', 'group of what arrives in a volume (default 1000)', parseCount)
    .option('-q, --quiet', 'no progress')
    .option('--json', 'print what was copied as JSON')
    .action((source: string, target: string, flags: CopyFlags) =>
      withServer(flags, async (viv) => {
        const owner = {
          ...(flags.uid !== undefined && { uid: flags.uid }),
          ...(flags.gid !== undefined && { gid: flags.gid }),
        };
        const side = (text: string): CopySide => {
          const match = SIDE.exec(text);
          if (text === '-') return { kind: 'tar', place: undefined };
          if (!match) return { kind: 'local', path: text, place: undefined };
          return { kind: 'volume', path: match[2] || '/', place: inVolume(viv.volumes.files(match[1]!), owner) };
        };
        const [from, to] = [side(source), side(target)];
        if (!from.place && !to.place)
          throw bad('neither side is in a volume', 'Write VOLUME:/path on one side (`viv cp` is for sandboxes).');
        await showCopy(flags, (onProgress) => copy(from, to, onProgress));
      }),
    )
    .addHelpText(
      'after',
      '\nAn existing directory as target is copied into; any other target is the new name. `-` is a tar on standard input or output.\n\nExamples:\n  viv volume cp ./dataset data:/\n  viv volume cp data:/results ./results',
    );
}

/** One row each, as `viv volume ls` shows them. */
export function volumeTable(volumes: readonly Volume[]): string {
  const rows = volumes.map((volume) => [
    volume.name,
    volume.id,
    formatBytes(volume.usedBytes),
    formatBytes(volume.sizeMiB * MIB),
    String(volume.sandboxes.length),
    formatAge(volume.createdAt),
  ]);
  return table(['NAME', 'ID', 'USED', 'SIZE', 'SANDBOXES', 'AGE'], rows);
}
