import { posix } from 'node:path';
import type { FnCall } from '../edge.ts';
import type { Box } from '../lifecycle/box.ts';

const AT_ONCE = 8;

/** Makes the call's directory and writes its files, as its user. */
export async function putFiles(box: Box, call: FnCall): Promise<void> {
  const cell = box.requireCell();
  const user = call.user ?? box.row.user ?? undefined;
  if (!isThere(call.cwd)) await cell.mkdir(Buffer.from(call.cwd), { user, parents: true, exclusive: false });
  const queue = [...call.files];
  const worker = async () => {
    for (let file = queue.shift(); file; file = queue.shift()) {
      const { path, content, mode } = file;
      await cell.write(Buffer.from(pathIn(call, path)), content, { user, mode, parents: true });
    }
  };
  await Promise.all(Array.from({ length: Math.min(AT_ONCE, queue.length) }, worker));
}

/** Every image has these: a cell mounts on them. */
function isThere(cwd: string): boolean {
  return cwd === '/' || cwd === '/dev' || cwd === '/proc';
}

/** A relative path begins at the call's directory. */
export function pathIn(call: FnCall, path: string): string {
  return path.startsWith('/') ? path : posix.join(call.cwd, path);
}
