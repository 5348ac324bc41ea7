import type { Vivarium } from '@vivarium/sdk';
import type { Command } from 'commander';
import { bad } from '../complaint.ts';
import type { ConnectionOptions } from '../connection.ts';
import { interactive, printJson, writeAll } from '../console.ts';
import { type Copied, type CopyOptions, copyAcross, copyIn, copyOut } from '../copy.ts';
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
  const line = new ProgressLine((flags.quiet ?? false) || !interactive.stderr);
  const began = Date.now();
  const options: CopyOptions = {
    ...(flags.user && { user: flags.user }),
    ...(flags.owner && { owner: flags.owner }),
    onProgress: (entries, bytes) =>
      line.update(
        'copy',
        `${entries} entries, ${formatBytes(bytes)}, ${formatBytes((bytes * 1000) / Math.max(1, Date.now() - began))}/s`,
      ),
  };
  await withServer(flags, async (viv) => {
    try {
      const copied = await copy(viv, from, to, options);
      line.end(
        copied &&
          `${copied.entries} entries, ${formatBytes(copied.bytes)} in ${formatSeconds((Date.now() - began) / 1000)}`,
      );
      if (flags.json && copied) printJson(copied);
    } catch (error) {
      line.end();
      throw error;
    }
  });
}

async function copy(viv: Vivarium, from: Side, to: Side, options: CopyOptions): Promise<Copied | undefined> {
  const as = options.user ? { user: options.user } : {};
  if (from.kind === 'sandbox') {
    const sandbox = await findSandbox(viv, from.sandbox);
    if (to.kind === 'sandbox')
      return copyAcross(sandbox, from.path, await findSandbox(viv, to.sandbox), to.path, options);
    if (to.kind === 'local') return copyOut(sandbox, from.path, to.path, options);
    for await (const chunk of await sandbox.files.download(from.path, as)) await writeAll(process.stdout, chunk);
    return undefined;
  }
  const { sandbox: word, path } = to as Extract<Side, { kind: 'sandbox' }>;
  const sandbox = await findSandbox(viv, word);
  if (from.kind === 'local') return copyIn(from.path, sandbox, path, options);
  return sandbox.files.upload(path, process.stdin, { ...as, ...(options.owner && { owner: options.owner }) });
}
