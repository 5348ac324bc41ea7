import type { E2bLogLevel } from '@vivarium/protocol/e2b/template.ts';
import type { Logger } from 'pino';
import type { BuildTable, LogRow } from '../store/build-table.ts';

/** Entries of one build; what comes after is left out, and that is said once. */
const ENTRIES_MAX = 20_000;
const CHARS_MAX = 8 * 1024 * 1024;
const MESSAGE_MAX = 4096;
const FLUSH_MS = 500;
const LEVELS: readonly E2bLogLevel[] = ['debug', 'info', 'warn', 'error'];

/** The log of a build that goes on: in memory, and soon after on disk. */
export class BuildLog {
  readonly entries: LogRow[] = [];
  readonly #table: BuildTable;
  readonly #build: string;
  readonly #now: () => number;
  readonly #log: Pick<Logger, 'error'>;
  readonly #rest = new Map<string, string>();
  #kept = 0;
  #chars = 0;
  #full = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(table: BuildTable, build: string, now: () => number, log: Pick<Logger, 'error'>) {
    this.#table = table;
    this.#build = build;
    this.#now = now;
    this.#log = log;
  }

  put(level: E2bLogLevel, step: string, message: string): void {
    // The end of a build is always told.
    if (this.#full && level !== 'error') return;
    this.#chars += Math.min(message.length, MESSAGE_MAX);
    const last = !this.#full && (this.entries.length >= ENTRIES_MAX - 1 || this.#chars > CHARS_MAX);
    this.#full ||= last;
    const entry = last
      ? {
          level: 'warn' as const,
          message: `more than ${ENTRIES_MAX} entries or ${CHARS_MAX} characters: the rest is left out`,
        }
      : { level, message: message.slice(0, MESSAGE_MAX) };
    this.entries.push({ atMs: this.#now(), step, ...entry });
    this.#timer ??= setTimeout(() => this.flush(), FLUSH_MS);
  }

  /** Output of a step, in whatever pieces it comes; an entry per line. */
  output(step: string, prefix: string, stream: 'stdout' | 'stderr', text: string): void {
    const lines = ((this.#rest.get(stream) ?? '') + text).split(/\r?\n|\r/);
    this.#rest.set(stream, lines.pop()!.slice(-MESSAGE_MAX));
    for (const line of lines) this.#line(step, prefix, stream, line);
  }

  /** The step has ended: a line without an end is one too. */
  endOutput(step: string, prefix: string): void {
    for (const [stream, line] of this.#rest) this.#line(step, prefix, stream, line);
    this.#rest.clear();
  }

  /** Puts on disk what is not there yet. What the disk does not take is tried again with the next entries. */
  flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const entries = this.entries.slice(this.#kept);
    if (entries.length === 0) return;
    try {
      this.#table.appendLog(this.#build, this.#kept, entries);
      this.#kept += entries.length;
    } catch (err) {
      this.#log.error({ err, build: this.#build }, 'the log of a build was not kept');
    }
  }

  #line(step: string, prefix: string, stream: string, line: string): void {
    if (line.trim() !== '') this.put('info', step, `${prefix} [${stream}]: ${line.trimEnd()}`);
  }
}

/** Entries of this level and above. */
export function ofLevel(entries: readonly LogRow[], level: E2bLogLevel): readonly LogRow[] {
  const least = LEVELS.indexOf(level);
  return least === 0 ? entries : entries.filter((entry) => LEVELS.indexOf(entry.level) >= least);
}

/** An entry as clients read it. */
export function logView({ atMs, level, step, message }: LogRow): object {
  return { timestamp: new Date(atMs).toISOString(), level, message, ...(step !== '' && { step }) };
}
