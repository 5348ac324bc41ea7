import { type Sandbox, type Stats, type Vivarium, VivError } from '@vivarium/sdk';
import type { Command } from 'commander';
import type { ConnectionOptions } from '../connection.ts';
import { interactive, print, printJson, printLine, table } from '../console.ts';
import { untilInterrupted, withServer } from '../one.ts';
import { findSandbox } from '../sandbox-name.ts';
import { formatBytes, formatSeconds, parseSeconds } from '../units.ts';

type Flags = ConnectionOptions & { watch?: boolean; interval: number; json?: boolean };
type Row = { sandbox: Sandbox; stats: Stats };

const AT_ONCE = 32;

export function define(command: Command): void {
  command
    .argument('[sandbox]', 'id, beginning of an id, or name; default: all that run')
    .option('-w, --watch', 'again and again')
    .option('--interval <time>', 'how often with --watch', parseSeconds, 2)
    .option('--json', 'JSON: an array, or with --watch a line per sandbox and round')
    .action((word: string | undefined, flags: Flags) => withServer(flags, (viv) => stats(viv, word, flags)));
}

async function stats(viv: Vivarium, word: string | undefined, flags: Flags): Promise<void> {
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

/** CPU is the share of one CPU since the last round; without one, the time used so far. */
export function statsTable(rows: readonly Row[], before: ReadonlyMap<string, Stats>): string {
  const body = rows.map(({ sandbox, stats }) => {
    const last = before.get(sandbox.id);
    const elapsedMs = last ? Date.parse(stats.at) - Date.parse(last.at) : 0;
    const cpu =
      last && elapsedMs > 0
        ? `${((stats.cpuUsageUs - last.cpuUsageUs) / 10 / elapsedMs).toFixed(1)}%`
        : formatSeconds(stats.cpuUsageUs / 1e6);
    return [
      sandbox.id,
      cpu,
      of(formatBytes(stats.memoryBytes), formatBytes(stats.memoryLimitBytes)),
      of(String(stats.pids), String(stats.pidsLimit)),
      of(formatBytes(stats.diskBytes), formatBytes(stats.diskLimitBytes)),
      `${stats.execsRunning}`,
      stats.oomKills > 0 ? String(stats.oomKills) : '',
    ];
  });
  return table(['ID', 'CPU', 'MEMORY', 'PIDS', 'DISK', 'EXECS', 'OOM'], body);
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
