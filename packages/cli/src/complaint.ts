import { ERROR_CODES, type ErrorCode, VivError } from '@vivarium/sdk/error.ts';
import { nearest } from '@vivarium/sdk/nearest.ts';
import type { CommanderError } from 'commander';
import { visible } from './console.ts';

/** `viv: message`, `hint: …` on stderr. Returns the exit code: the error's own, or `code` where the verb has its own. */
export function complain(thrown: unknown, code?: number): number {
  const error = VivError.from(ofFile(thrown) ?? thrown);
  // A message may hold names that a program inside has chosen.
  process.stderr.write(`viv: ${error.message.split('\n').map(visible).join('\n')}\n`);
  if (error.hint) process.stderr.write(`hint: ${error.hint}\n`);
  if (process.env.VIV_DEBUG)
    process.stderr.write(`${error.stack}\n${error.cause instanceof Error ? `cause: ${error.cause.stack}\n` : ''}`);
  return code ?? error.exitCode;
}

const FILE_TROUBLE: Record<string, string> = {
  ENOENT: 'no such file or directory',
  ENOTDIR: 'not a directory',
  EISDIR: 'a directory',
  EACCES: 'permission denied',
};

/** A file of this machine that was named and can't be used is no bug of ours. */
function ofFile(thrown: unknown): VivError | undefined {
  if (!(thrown instanceof Error) || thrown instanceof VivError) return undefined;
  const { code = '', path, syscall } = thrown as NodeJS.ErrnoException;
  if (typeof path !== 'string' || syscall?.startsWith('spawn') || !Object.hasOwn(FILE_TROUBLE, code)) return undefined;
  return bad(`${path}: ${FILE_TROUBLE[code]}`, 'Correct the path and try again.');
}

/** A usage error as commander found it. */
export function usage(verb: string, error: CommanderError, code: number | undefined): number {
  const message = error.message.replace(/^error: /, '');
  const dashes =
    code !== undefined && error.code === 'commander.unknownOption'
      ? 'Options of the command itself go after `--`; '
      : '';
  process.stderr.write(`viv: ${message}\nhint: ${dashes}\`viv help ${verb}\` lists the options.\n`);
  return code ?? ERROR_CODES.invalid_argument.exit;
}

/** What people know from other tools, by its name there. */
const ELSEWHERE: Record<string, string> = {
  rm: 'kill',
  stop: 'kill',
  delete: 'kill',
  destroy: 'kill',
  images: 'image ls',
  pull: 'image pull',
  build: 'image build',
  rmi: 'image rm',
  list: 'ls',
  start: 'create',
  new: 'create',
  unpause: 'resume',
  diff: 'changes',
  connect: 'shell',
  ssh: 'shell',
  top: 'ps',
  port: 'port-forward',
};

/** Names the verb that does what the word means elsewhere, or the nearest when there is one. */
export function unknownVerb(word: string, names: readonly string[]): number {
  const meant = Object.hasOwn(ELSEWHERE, word) ? ELSEWHERE[word] : nearest(word, names);
  const hint = meant === undefined ? '`viv help` lists the verbs.' : `Did you mean \`viv ${meant}\`?`;
  process.stderr.write(`viv: no verb \`${word}\`\nhint: ${hint}\n`);
  return ERROR_CODES.invalid_argument.exit;
}

/** A usage error found after parsing. */
export function bad(message: string, hint?: string, code: ErrorCode = 'invalid_argument'): VivError {
  return new VivError(code, message, hint === undefined ? {} : { hint });
}
