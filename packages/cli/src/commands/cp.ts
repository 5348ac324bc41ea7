import type { Command } from 'commander';
import { bad } from '../complaint.ts';
import type { ConnectionOptions } from '../connection.ts';
import { interactive, printJson, writeAll } from '../console.ts';
import { type Copied, copyAcross, copyIn, copyOut, inSandbox, type OnProgress, type Place } from '../copy.ts';
import { parseSide, type Side } from '../copy-side.ts';
import { withServer } from '../one.ts';
import { ProgressLine } from '../progress.ts';
import { findSandbox } from '../sandbox-name.ts';
import { formatBytes, formatSeconds } from '../units.ts';

type Flags = ConnectionOptions & { user?: string; owner?: string; quiet?: boolean; json?: boolean };

export function define(command: Command): void {
  command
    .argument('<source>', 'SANDBOX:/path, a local path, or - for a tar on standard input')
    .argument('<target>', 'SANDBOX:/path, a local path, or - for a tar on standard output')
    .option('-u, --user <user>', 'act with this user’s permissions inside (default root)')
    .option('--owner <user>', 'who owns what arrives inside')
    .option('-q, --quiet', 'no progress')
    .option('--json', 'print what was copied as JSON')
    .action(cp);
  command.addHelpText(
    'after',
    '\nAn existing directory as target is copied into; any other target is the new name.\n\nExamples:\n  viv cp ./src web:/srv/\n  viv cp web:/var/log/app.log .\n  tar c . | viv cp - web:/srv/app',
  );
}

async function cp(source: string, target: string, flags: Flags): Promise<void> {
  const [from, to] = [parseSide(source), parseSide(target)];
  if (from.kind !== 'sandbox' && to.kind !== 'sandbox')
    throw bad('neither side is in a sandbox', 'Write SANDBOX:/path on one side.');
  await withServer(flags, async (viv) => {
    const place = async (side: Side) =>
      side.kind === 'sandbox' ? inSandbox(await findSandbox(viv, side.sandbox), flags) : undefined;
    const [source, target] = [await place(from), await place(to)];
    await showCopy(flags, (onProgress) => copy({ ...from, place: source }, { ...to, place: target }, onProgress));
  });
}

/** Does a copy with a line of progress, and prints what was copied. */
export async function showCopy(
  flags: { quiet?: boolean; json?: boolean },
  work: (onProgress: OnProgress) => Promise<Copied | undefined>,
): Promise<void> {
  const line = new ProgressLine((flags.quiet ?? false) || !interactive.stderr);
  const began = Date.now();
  const rate = (bytes: number) => formatBytes((bytes * 1000) / Math.max(1, Date.now() - began));
  try {
    const copied = await work((entries, bytes) =>
      line.update('copy', `${entries} entries, ${formatBytes(bytes)}, ${rate(bytes)}/s`),
    );
    line.end(
      copied &&
        `${copied.entries} entries, ${formatBytes(copied.bytes)} in ${formatSeconds((Date.now() - began) / 1000)}`,
    );
    if (flags.json && copied) printJson(copied);
  } catch (error) {
    line.end();
    throw error;
  }
}

/** A side, with what is there; `place` is absent where it is this machine. */
export type CopySide = { place: Place | undefined; path?: string; kind: 'local' | 'tar' | string };

/** Between two sides of which one at least is elsewhere. */
export async function copy(from: CopySide, to: CopySide, onProgress: OnProgress): Promise<Copied | undefined> {
  if (from.place) {
    if (to.place) return copyAcross(from.place, from.path!, to.place, to.path!);
    if (to.kind === 'local') return copyOut(from.place, from.path!, to.path!, onProgress);
    for await (const chunk of await from.place.download(from.path!)) await writeAll(process.stdout, chunk);
    return undefined;
  }
  if (from.kind === 'local') return copyIn(from.path!, to.place!, to.path!, onProgress);
  return to.place!.upload(to.path!, process.stdin);
}
