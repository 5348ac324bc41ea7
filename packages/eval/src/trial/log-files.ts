import { type FileHandle, mkdir, open } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { Readable } from 'node:stream';
import { type Sandbox, VivError } from '@vivarium/sdk';
import tar from 'tar-stream';

/** What is kept of one trial's logs and artifacts on this machine. */
export type LogLimits = { bytes: number; entries: number };
export const LOG_LIMITS: LogLimits = { bytes: 64 << 20, entries: 10_000 };
/** Read over in one download: a file of holes that nobody asked for may be as long as it likes. */
const SKIPPED_BYTES_MAX = 1 << 30;

/** What is left of the limits, and why something is missing. Shared by all downloads of a trial. */
export class LogBudget {
  bytes: number;
  entries: number;
  readonly notes: string[] = [];

  constructor(limits: LogLimits = LOG_LIMITS) {
    this.bytes = limits.bytes;
    this.entries = limits.entries;
  }

  note(text: string): void {
    if (this.notes.length < 20) this.notes.push(text);
  }
}

/**
 * Where an entry of the archive goes: a path below the trial's directory, or null to leave it out. `path` has no leading
 * slash and no dot-dot.
 */
export type Placement = (path: string) => string | null;

/**
 * Downloads a directory or file of a sandbox. Only plain files and directories arrive; what an agent made of its logs
 * (links, devices, names that climb) can't write elsewhere: every path is taken apart, and no link is ever made here. Cut
 * off at the budget, with a note. A missing source is false, not an error.
 */
export async function downloadFiles(
  sandbox: Sandbox,
  source: string,
  target: string,
  place: Placement,
  budget: LogBudget,
  signal?: AbortSignal,
): Promise<boolean> {
  let stream: AsyncIterable<Uint8Array>;
  try {
    stream = (await sandbox.files.download(source, {
      ...(signal && { signal }),
    })) as unknown as AsyncIterable<Uint8Array>;
  } catch (error) {
    if (error instanceof VivError && MISSING.has(error.code)) return false;
    throw error;
  }
  await unpackFiles(stream, source, target, place, budget);
  return true;
}

const MISSING: ReadonlySet<string> = new Set(['path_not_found', 'not_directory', 'not_regular_file', 'path_denied']);

/** The part that reads the archive. Exported for its tests. */
export async function unpackFiles(
  archive: AsyncIterable<Uint8Array>,
  source: string,
  target: string,
  place: Placement,
  budget: LogBudget,
): Promise<void> {
  const extract = tar.extract();
  const input = Readable.from(archive);
  input.on('error', (error) => extract.destroy(error));
  input.pipe(extract);
  let skipped = 0;
  try {
    for await (const entry of extract) {
      const { name, type } = entry.header;
      const path = safePath(name);
      const to = path === null ? null : place(path);
      if (to === null || type !== 'file') {
        if (to !== null && type !== 'directory' && path !== '')
          budget.note(`${source}: ${name} (${type}) was left out`);
        if (to !== null && type === 'directory' && budget.entries-- > 0)
          await mkdir(join(target, to), { recursive: true }).catch(() => {});
        skipped += entry.header.size ?? 0;
        if (skipped > SKIPPED_BYTES_MAX) {
          budget.note(`${source}: ${name} and what comes after it was left out: too much in between is not asked for`);
          break;
        }
        entry.resume();
        continue;
      }
      if (budget.entries-- <= 0) {
        budget.note(`${source}: more files than are kept`);
        break;
      }
      await writeEntry(entry, join(target, to), `${source}/${name}`, budget);
      if (budget.bytes <= 0) {
        budget.note(`${source}: more bytes than are kept; the rest was left out`);
        break;
      }
    }
  } finally {
    input.destroy();
    extract.destroy();
  }
}

async function writeEntry(
  entry: AsyncIterable<Uint8Array | unknown>,
  path: string,
  name: string,
  budget: LogBudget,
): Promise<void> {
  let file: FileHandle;
  try {
    await mkdir(dirname(path), { recursive: true });
    // wx: what is there already (a name twice in the archive, a file of ours) is never written through.
    file = await open(path, 'wx', 0o644);
  } catch {
    budget.note(`${name} could not be kept under that name`);
    for await (const _ of entry);
    return;
  }
  try {
    for await (const chunk of entry as AsyncIterable<Uint8Array>) {
      const part = chunk.subarray(0, Math.max(0, budget.bytes));
      if (part.length > 0) await file.write(part);
      budget.bytes -= chunk.length;
      if (budget.bytes <= 0) break;
    }
  } finally {
    await file.close();
  }
}

/** Null for a name that climbs or can't be a name here. */
function safePath(name: string): string | null {
  const parts = name.split('/').filter((part) => part !== '' && part !== '.');
  if (parts.some((part) => part === '..' || part.length > 255 || part.includes('\0'))) return null;
  if (parts.length > 64) return null;
  return parts.join('/');
}
