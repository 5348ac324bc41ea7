import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TrialResult } from '@vivarium/eval';

export type DemoTrial = { task: string; outcome: string; reward: number | null; agentMs: number; testMs: number };

/** The results of a job's trials, as `viv eval` left them on disk. */
export function readTrials(jobDir: string): DemoTrial[] {
  return readdirSync(jobDir, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => JSON.parse(readFileSync(join(jobDir, name, 'result.json'), 'utf8')) as TrialResult)
    .map(({ task_name, verifier_result, vivarium }) => ({
      task: task_name,
      outcome: vivarium.outcome,
      reward: verifier_result?.rewards?.reward ?? null,
      agentMs: vivarium.timings.agentMs,
      testMs: vivarium.timings.testMs,
    }));
}

/** The demo's result on stdout: a line per task, and the rate. */
export function printTable(trials: readonly DemoTrial[], seconds: number): void {
  const tasks = Map.groupBy(trials, ({ task }) => task);
  const head = ['task', 'trials', 'reward', 'solution ms', 'tests ms'];
  const rows = [...tasks].sort(([a], [b]) => (a < b ? -1 : 1)).map(([task, all]) => [task, ...rowOf(all)]);
  const widths = head.map((title, n) => Math.max(title.length, ...rows.map((row) => row[n]!.length)));
  for (const row of [head, ...rows]) {
    console.log(row.map((cell, n) => (n === 0 ? cell.padEnd(widths[n]!) : cell.padStart(widths[n]!))).join('  '));
  }
  for (const { task, outcome } of trials.filter(({ reward }) => reward !== 1)) console.log(`${task}: ${outcome}`);
  const right = trials.filter(({ reward }) => reward === 1).length;
  const perMinute = ((60 * trials.length) / seconds).toFixed(0);
  console.log(
    `${trials.length} trials of ${tasks.size} tasks, ${right} with reward 1, in ${seconds.toFixed(1)} s: ${perMinute} trials/min`,
  );
}

function rowOf(trials: readonly DemoTrial[]): string[] {
  const rewards = trials.map(({ reward }) => reward ?? 0);
  const mean = rewards.reduce((sum, reward) => sum + reward, 0) / trials.length;
  return [
    String(trials.length),
    mean.toFixed(mean === 1 || mean === 0 ? 0 : 2),
    median(trials.map(({ agentMs }) => agentMs)).toFixed(0),
    median(trials.map(({ testMs }) => testMs)).toFixed(0),
  ];
}

function median(values: number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor((values.length - 1) / 2)] ?? 0;
}
