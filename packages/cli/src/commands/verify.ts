import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { FileTree, shortDigest } from '@vivarium/eval';
import type { Sandbox, Verification, VerifyRequest, Vivarium } from '@vivarium/sdk';
import { VivError } from '@vivarium/sdk';
import { makeDirectory, unpackTree } from '@vivarium/sdk/node';
import { type Command, Option } from 'commander';
import type { ConnectionOptions } from '../connection.ts';
import { note, print, printJson, style, visible } from '../console.ts';
import { withSandbox } from '../one.ts';
import { collectEnv, parseSeconds } from '../units.ts';
import { Exit } from '../verb-program.ts';

type Flags = ConnectionOptions & {
  tests?: string;
  grader?: string;
  mode: 'fresh' | 'in_place';
  isolation: 'in_process' | 'black_box';
  workspace?: string[];
  protect?: string[];
  agentUser?: string;
  user?: string;
  workdir?: string;
  env?: Record<string, string>;
  timeout?: number;
  keep?: string;
  keepSplit?: string;
  then: 'resume' | 'pause' | 'end';
  logs?: string;
  json?: boolean;
};

const SHOWN = 10;
/** The grader came to no reward. */
const NO_REWARD = 1;

export function define(command: Command): void {
  command
    .argument('<sandbox>', 'id, beginning of an id, or name')
    .argument('[command...]', 'the grader, after `--`; default: /tests/test.sh')
    .option('--tests <dir>', 'local directory that is /tests where the grade is made, and only there')
    .option('--grader <image>', 'image with the grader’s files, instead of --tests')
    .addOption(
      new Option('--mode <mode>', 'in a fresh sandbox, or in the agent’s own')
        .choices(['fresh', 'in_place'])
        .default('fresh'),
    )
    .addOption(
      new Option('--isolation <kind>', 'what the grader shares with the agent’s program')
        .choices(['in_process', 'black_box'])
        .default('in_process'),
    )
    .option(
      '--workspace <glob>',
      'what the agent is expected to change (repeatable; default: the image’s workdir)',
      collect,
    )
    .option('--protect <glob>', 'what is graded as the image has it (repeatable)', collect)
    .option('--agent-user <user>', 'who runs the agent’s program in a black box')
    .option('-u, --user <user>', 'who runs the grader')
    .option('-w, --workdir <dir>', 'directory the grader starts in')
    .option('-e, --env <name=value>', 'environment variable of the grader (repeatable)', collectEnv)
    .option('--timeout <time>', 'for the grader (default 10m)', parseSeconds)
    .option('--keep <image>', 'keep the agent’s whole state as this image')
    .option('--keep-split <image>', 'keep what was graded as this image')
    .addOption(
      new Option('--then <what>', 'what becomes of the sandbox').choices(['resume', 'pause', 'end']).default('resume'),
    )
    .option('--logs <dir>', 'save /logs/verifier and the grader’s output here')
    .option('--json', 'print the verification as JSON')
    .action((word: string, argv: string[], flags: Flags) =>
      withSandbox(word, flags, (sandbox, viv) => verify(viv, sandbox, argv, flags)),
    );
  command.addHelpText(
    'after',
    '\nThe grader leaves its reward in /logs/verifier/reward.json or reward.txt. The exit code is 0 when there is one, 1 when there is none.\n\nExamples:\n  viv verify web --tests ./tests\n  viv verify web --tests ./tests --workspace /srv/app -- bash /tests/run.sh',
  );
}

async function verify(viv: Vivarium, sandbox: Sandbox, argv: string[], flags: Flags): Promise<void> {
  const grader = flags.grader ?? (flags.tests === undefined ? undefined : await graderOf(viv, flags.tests));
  const verification = await sandbox.verify(requestOf(argv, flags, grader));
  if (flags.json) printJson(verification);
  else printVerification(verification);
  if (verification.rewards === null) throw new Exit(NO_REWARD);
}

function requestOf(argv: string[], flags: Flags, grader: string | undefined): VerifyRequest {
  const shell = flags.mode === 'in_place' ? 'sh' : 'bash';
  const { mode, isolation, protect, workspace, agentUser, user, workdir, env, timeout, keep, keepSplit, logs } = flags;
  return {
    mode,
    isolation,
    ...(protect && { protect }),
    afterwards: flags.then,
    command: argv.length > 0 ? argv : `${shell} /tests/test.sh`,
    ...(grader !== undefined && { grader }),
    ...(workspace && { workspace }),
    ...(agentUser !== undefined && { agentUser }),
    ...(user !== undefined && { user }),
    ...(workdir !== undefined && { cwd: workdir }),
    ...(env && { env }),
    ...(timeout !== undefined && { timeoutMs: Math.round(timeout * 1000) }),
    ...(keep !== undefined && { keep }),
    ...(keepSplit !== undefined && { keepSplit }),
    ...(logs !== undefined && { onSandbox: (box: Sandbox) => saveLogs(box, logs) }),
  };
}

/** The directory as an image, made once for each content. */
async function graderOf(viv: Vivarium, tests: string): Promise<string> {
  const tree = await new FileTree().addDirectory('tests').addTree('tests', tests);
  const name = `grader/tests@${shortDigest(await tree.digest())}`;
  await viv.images.importTar(name, tree.tar(), { opaque: ['/tests'] }).catch((error: unknown) => {
    if (!(error instanceof VivError && error.code === 'image_exists')) throw error;
  });
  return name;
}

async function saveLogs(box: Sandbox, directory: string): Promise<void> {
  makeDirectory(directory);
  await unpackTree(await box.files.download('/logs/verifier', { user: '0:0' }), directory);
  for await (const { id, label } of box.execs()) {
    if (label !== 'verifier') continue;
    const { stdoutBytes, stderrBytes } = await (await box.attach(id)).result();
    await writeFile(join(directory, 'test-stdout.txt'), stdoutBytes);
    await writeFile(join(directory, 'test-stderr.txt'), stderrBytes);
  }
}

function printVerification(verification: Verification): void {
  const { rewards, rewardError, mode, isolation, image, tampering, tamperingCounts, leftOutEntries } = verification;
  for (const [name, value] of Object.entries(rewards ?? {})) print(`${visible(name)}  ${value}`);
  if (rewardError !== null) print(`${style.red('no reward')}  ${visible(rewardError)}`);
  note(style.dim(`graded ${mode}, ${isolation}, from ${image.name}`));
  if (leftOutEntries > 0) note(style.dim(`${leftOutEntries} changes were not carried over`));
  for (const { path, change, what } of tampering.slice(0, SHOWN))
    note(`${style.yellow('tampering')}  ${what}: ${visible(path)} ${change}`);
  const total = Object.values(tamperingCounts).reduce((sum, count) => sum + count, 0);
  if (total > SHOWN)
    note(style.dim(`and ${total - Math.min(SHOWN, tampering.length)} more outside the workspace (--json)`));
}

function collect(text: string, all: string[] = []): string[] {
  return [...all, text];
}
