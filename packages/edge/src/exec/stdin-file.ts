import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { diskError } from '../journal/journal.ts';
import { outputPath } from './exec-record.ts';
import type { RunningExec } from './running-exec.ts';

/**
 * Input that came with a request is on file before the command starts, so that a restart of the edge in mid-way feeds the rest. The file
 * goes when the command has ended. Throws `node_disk_full`.
 */
export function keepStdin(sandboxDir: string, exec: string, bytes: Buffer): void {
  const path = outputPath(sandboxDir, exec, 0);
  try {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    writeFileSync(path, bytes, { mode: 0o600 });
  } catch (error) {
    rmSync(path, { force: true });
    throw diskError(error, path);
  }
}

/** Feeds what came with the request, from an offset, then EOF. Does nothing for commands without such input. */
export function feedStdin(exec: RunningExec, from = 0): void {
  const { process, asked } = exec;
  if (typeof asked.stdin !== 'number' || !process) return;
  const path = outputPath(exec.box.dir, exec.id, 0);
  void exec.ended.then(() => rmSync(path, { force: true }));
  const rest = asked.stdin > from ? readFileSync(path).subarray(from) : null;
  // A command that ends without reading its input rejects the write; its end is reported by its exit.
  void (rest ? process.write(rest) : Promise.resolve()).then(
    () => process.closeStdin(),
    () => {},
  );
}
