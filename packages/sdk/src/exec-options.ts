import type { ExecStartInput, WinSize } from '@vivarium/protocol/exec.ts';
import { type ByteStream, type Bytes, isByteStream, toBase64, toBytes } from './bytes.ts';

/** Kept of each stream in a result unless asked otherwise (the protocol's OUTPUT_KEPT_BYTES_DEFAULT; a test compares). */
export const OUTPUT_KEPT_BYTES_DEFAULT = 16 * 1024 * 1024;
/** Input up to this size travels in the request itself. */
const STDIN_INLINE_BYTES = 1_000_000;

/** A string is run by /bin/sh -c; an array is a program and its arguments, without a shell. */
export type Command = string | readonly string[];

export type CommandOptions = {
  /** Directory; default the image's, else the user's home. */
  cwd?: string;
  env?: Record<string, string>;
  /** `name`, `uid`, `name:group` or `uid:gid` inside the sandbox. */
  user?: string;
  /** Ends the command and all it started; outcome `timeout`. Default: none. */
  timeoutMs?: number;
  /** Kept of each stream in the journal and in results. Default 16 MiB, at most 64 MiB. */
  keepBytes?: number;
  /** More than this on both streams together ends the command; outcome `output_limit`. Default: none. */
  outputLimitBytes?: number;
  rlimits?: ExecStartInput['rlimits'];
  label?: string;
  /** Aborted while the command starts, or while exec() waits for it: the command is canceled and the call throws the signal’s reason. */
  signal?: AbortSignal;
};

export type ExecOptions = CommandOptions & {
  /** What the command reads; then end of file. Default: end of file at once. */
  stdin?: Bytes | ByteStream;
  /** Throw `command_failed` unless it exits with 0. Default false. */
  throwOnError?: boolean;
};

export type SpawnOptions = CommandOptions & {
  /** A terminal: one merged stream on stdout. `true` is 24 × 80. */
  pty?: boolean | WinSize;
  /** Will this side write to it? Default: true with a pty, else false (end of file at once). */
  stdin?: boolean;
};

/** The wire form of a command and its options. */
export function execStart(command: Command, options: CommandOptions & { pty?: boolean | WinSize }): ExecStartInput {
  const { cwd, env, user, timeoutMs, keepBytes, outputLimitBytes, rlimits, label, pty } = options;
  return {
    ...(typeof command === 'string' ? { command } : { argv: [...command] }),
    ...(env && { env }),
    ...defined({ cwd, user, timeoutMs, keepBytes, outputLimitBytes, rlimits, label }),
    ...(pty && { pty: pty === true ? { rows: 24, cols: 80 } : pty }),
  };
}

/** Small input goes along with the request, the rest is streamed. */
export function splitStdin(stdin: Bytes | ByteStream | undefined): { inline?: string; stream?: Bytes | ByteStream } {
  if (stdin === undefined) return {};
  if (isByteStream(stdin)) return { stream: stdin };
  const bytes = toBytes(stdin);
  return bytes.length <= STDIN_INLINE_BYTES ? { inline: toBase64(bytes) } : { stream: bytes };
}

/** Leaves out what is undefined: the server refuses unknown and null fields. */
export function defined<T extends Record<string, unknown>>(fields: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as never;
}
