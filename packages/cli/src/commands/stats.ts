import { type Sandbox, type Stats, type Vivarium, VivError } from '@vivarium/sdk';
import type { Command } from 'commander';
import { bad } from '../complaint.ts';
import type { ConnectionOptions } from '../connection.ts';
import { interactive, note, print, printJson, printLine, table } from '../console.ts';
import { untilInterrupted, withServer } from '../one.ts';
import { findSandbox } from '../sandbox-name.ts';
import { formatBytes, formatSeconds, parseSeconds } from '../units.ts';

type Flags = ConnectionOptions & { watch?: boolean; history?: boolean; interval: number; json?: boolean };
type Row = { sandbox: Sandbox; stats: Stats };

const AT_ONCE = 32;

export function define(command: Command): void {
  command
    .argument('[sandbox]', 'id, beginning of an id, or name; default: all that run')
    .option('--history', 'what one sandbox used so far, a sample every few seconds')
    .option('-w, --watch', 'again and again')
    .option('--interval <time>', 'how often with --watch', parseSeconds, 2)
    .option('--json', 'JSON: an array, or with --watch a line per sandbox and round')
    .action((word: string | undefined, flags: Flags) => withServer(flags, (viv) => stats(viv, word, flags)));
}

async function stats(viv: Vivarium, word: string | undefined, flags: Flags): Promise<void> {
  if (flags.history) return history(viv, word, flags);
  const stop = flags.watch ? untilInterrupted() : undefined;
  let before = new Map<string, Stats>();
  do {
    const rows = await measure(await choose(viv, word), word !== undefined);
    if (flags.json && flags.watch) for (const { sandbox, stats } of rows) printLine({ id: sandbox.id, ...stats });
    else if (flags.json) printJson(rows.map(({ sandbox, stats }) => ({ id: sandbox.id, ...stats })));
    else {
      if (flags.watch && interactive.stdout) process.stdout.write('\u001b[H\u001b[J');
      print(statsTable(rows, before));
    }
    before = new Map(rows.map(({ sandbox, stats }) => [sandbox.id, stats]));
    if (stop) await pause(flags.interval * 1000, stop);
  } while (stop && !stop.aborted);
}

async function history(viv: Vivarium, word: string | undefined, { json, watch }: Flags): Promise<void> {
  if (word === undefined || watch) throw bad('--history is of one sandbox, and not with --watch');
  const samples = await (await findSandbox(viv, word)).statsHistory();
  if (json) printJson(samples);
  else if (samples.length === 0) note('nothing was measured yet');
  else print(historyTable(samples));
}

async function choose(viv: Vivarium, word: string | undefined): Promise<Sandbox[]> {
  if (word !== undefined) return [await findSandbox(viv, word)];
  const all: Sandbox[] = [];
  for await (const sandbox of viv.sandboxes.list({ states: ['running', 'paused'] })) all.push(sandbox);
  return all;
}

/** One that ended meanwhile is left out when all were asked for. */
async function measure(sandboxes: Sandbox[], strict: boolean): Promise<Row[]> {
  const rows: Row[] = [];
  const queue = sandboxes.values();
  const worker = async () => {
    for (const sandbox of queue) {
      try {
        rows.push({ sandbox, stats: await sandbox.stats() });
      } catch (error) {
        if (strict || !(error instanceof VivError) || !/^sandbox_/.test(error.code)) throw error;
      }
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
  return rows.sort((a, b) => (a.sandbox.id < b.sandbox.id ? -1 : 1));
}

const COLUMNS = ['CPU', 'MEMORY', 'PIDS', 'DISK', 'EXECS', 'OOM'];

/** CPU is the share of one CPU since the last round; without one, the time used so far. */
export function statsTable(rows: readonly Row[], before: ReadonlyMap<string, Stats>): string {
  const body = rows.map(({ sandbox, stats }) => [sandbox.id, ...cellsOf(stats, before.get(sandbox.id))]);
  return table(['ID', ...COLUMNS], body);
}

/** CPU is the share of one CPU since the line above. */
export function historyTable(samples: readonly Stats[]): string {
  const body = samples.map((stats, i) => [stats.at, ...cellsOf(stats, samples[i - 1])]);
  return table(['AT', ...COLUMNS], body);
}

function cellsOf(stats: Stats, last: Stats | undefined): string[] {
  const elapsedMs = last ? Date.parse(stats.at) - Date.parse(last.at) : 0;
  // A sandbox that was paused without memory begins to count anew.
  const isLater = last && elapsedMs > 0 && stats.cpuUsageUs >= last.cpuUsageUs;
  return [
    isLater
      ? `${((stats.cpuUsageUs - last.cpuUsageUs) / 10 / elapsedMs).toFixed(1)}%`
      : formatSeconds(stats.cpuUsageUs / 1e6),
    of(formatBytes(stats.memoryBytes), formatBytes(stats.memoryLimitBytes)),
    of(String(stats.pids), String(stats.pidsLimit)),
    of(formatBytes(stats.diskBytes), formatBytes(stats.diskLimitBytes)),
    `${stats.execsRunning}`,
    stats.oomKills > 0 ? String(stats.oomKills) : '',
  ];
}

const of = (used: string, limit: string) => `${used} / ${limit}`;

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener('abort', () => {
      clearTimeout(timer);
      resolve();
    });
  });
}
