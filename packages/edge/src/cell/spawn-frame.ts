import { VivError } from '@vivarium/protocol';
import type { SpawnRequest } from './cell-process.ts';
import { rlimitBlock } from './config.ts';
import { FRAME } from './frame.ts';
import { TlvFrame } from './tlv.ts';

const FLAG = { PTY: 1, STDIN: 2, MERGE: 4, WAIT: 8 } as const;
const TAG_BYTES_MAX = 64;

/** SPAWN with the wait flag: the child stays before execve until START. Throws `invalid_argument`. */
export function spawnFrame(request: SpawnRequest, stream: number): Buffer {
  if (request.argv.length === 0) throw new VivError('invalid_argument', 'argv is empty');
  if (request.tag.length > TAG_BYTES_MAX)
    throw new VivError('invalid_argument', `tag is longer than ${TAG_BYTES_MAX} bytes`);
  const frame = new TlvFrame(FRAME.SPAWN, true);
  for (const argument of request.argv) frame.text(1, argument);
  for (const name of Object.keys(request.env)) frame.text(2, variable(name, request.env[name] as string));
  let flags: number = FLAG.WAIT;
  if (request.pty) flags |= FLAG.PTY;
  if (request.stdin) flags |= FLAG.STDIN;
  if (request.mergeStderr) flags |= FLAG.MERGE;
  frame.text(3, request.cwd).text(4, request.user).u32(5, flags);
  for (const limit of request.rlimits ?? []) frame.bytes(6, rlimitBlock(limit));
  if (request.pty) frame.bytes(7, winsize(request.pty.rows, request.pty.cols));
  return frame.bytes(8, request.tag).u32(9, request.window).u32(10, request.umask).finish(stream);
}

/** `rows u16, cols u16`, as in SPAWN and RESIZE. */
export function winsize(rows: number, cols: number): Buffer {
  const size = Buffer.allocUnsafe(4);
  size.writeUInt16LE(rows, 0);
  size.writeUInt16LE(cols, 2);
  return size;
}

function variable(name: string, value: string): string {
  if (name === '' || name.includes('='))
    throw new VivError('invalid_argument', `${JSON.stringify(name)} is no name of a variable`);
  return `${name}=${value}`;
}
