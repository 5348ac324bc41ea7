import { open, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { TaskWarning } from './task.ts';
import type { TreeEntry } from './tree.ts';

const SCRIPT_BYTES_MAX = 4 * 2 ** 20;
/** What we put into a sandbox ourselves. environment/ is the Dockerfile's affair. */
const OURS = /^(tests|solution|steps\/[^/]+\/(tests|solution|workdir))\//;

/** A shell script by name or by its first line; only these get LF. */
export function isScript(path: string, head: Buffer): boolean {
  return (
    path.endsWith('.sh') || /^#!.*\b(ba|da|z|k)?sh\b/.test(head.subarray(0, 128).toString('latin1').split('\n')[0]!)
  );
}

/**
 * The content that goes into a sandbox for a file of tests/, solution/ or workdir/: shell scripts with LF, because a
 * kernel would look for an interpreter `bash\r`; everything else as it is.
 */
export async function readForSandbox(file: string): Promise<Buffer> {
  const content = await readFile(file);
  if (content.length > SCRIPT_BYTES_MAX || !isScript(file, content) || !content.includes('\r\n')) return content;
  return Buffer.from(content.toString('latin1').replaceAll('\r\n', '\n'), 'latin1');
}

/** One warning per script that is changed on its way. */
export async function scriptWarnings(root: string, entries: readonly TreeEntry[]): Promise<TaskWarning[]> {
  const warnings: TaskWarning[] = [];
  for (const { path, type, bytes } of entries) {
    if (type !== 'file' || bytes > SCRIPT_BYTES_MAX || !OURS.test(path)) continue;
    if (!(await isScriptFile(root, path))) continue;
    const content = await readFile(join(root, path));
    if (content.includes('\r\n'))
      warnings.push({ file: path, field: null, message: 'has CRLF line ends; it arrives with LF' });
  }
  return warnings;
}

async function isScriptFile(root: string, path: string): Promise<boolean> {
  if (path.endsWith('.sh')) return true;
  const handle = await open(join(root, path));
  try {
    const head = Buffer.alloc(128);
    await handle.read(head, 0, head.length, 0);
    return isScript(path, head);
  } finally {
    await handle.close();
  }
}
