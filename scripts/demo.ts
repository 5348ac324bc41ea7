/**
 * `npm run demo`: a node of its own, and on it `viv eval examples/tasks -a oracle -k 4 -n 8`: every task's image is built, four
 * sandboxes each get its solution, and four fresh ones say what that is worth. Fails unless every reward is 1. The images of E2B's
 * templates `base` and `code-interpreter-v1` are made too. Leaves nothing running;
 * the node's state stays in /var/lib/vivarium-demo, so that the images are there the next time.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { down, nodePaths, runningServer, up } from '@vivarium/node';
import { Vivarium } from '@vivarium/sdk';
import { ensureBaseImage } from './demo/base-image.ts';
import { printTable, readTrials } from './demo/table.ts';
import { ensureE2bBase, ensureE2bCodeInterpreter } from './demo/template-images.ts';

const STATE_DIR = process.env.VIV_DEMO_STATE_DIR ?? '/var/lib/vivarium-demo';
const ROOT = resolve(import.meta.dirname, '..');
const ATTEMPTS = 4;
const AT_ONCE = 8;

const say = (line: string) => process.stderr.write(`${line}\n`);
const paths = nodePaths(STATE_DIR);
let ending: Promise<void> | undefined;
const end = () => {
  ending ??= down({ stateDir: STATE_DIR, purge: false }, say);
  return ending;
};
// The evaluation gets Ctrl-C from the terminal too, and ends its sandboxes first.
let running = false;
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.on(signal, () => {
    if (!running) void end().finally(() => process.exit(130));
  });
}

try {
  await up({ stateDir: STATE_DIR, listen: '127.0.0.1:0', domain: undefined, detach: true }, say);
  const server = await runningServer(paths);
  if (server === undefined) throw new Error('the node went away');
  const apiKey = readFileSync(paths.firstKey, 'utf8').trim();
  const viv = new Vivarium({ url: server.url, apiKey });
  try {
    await ensureBaseImage(viv, say);
    await ensureE2bBase(viv, say);
    await ensureE2bCodeInterpreter(viv, say);
  } finally {
    viv.close();
  }
  const started = performance.now();
  const job = await evaluate(server.url, apiKey);
  const trials = readTrials(job);
  printTable(trials, (performance.now() - started) / 1000);
  process.exitCode = trials.length > 0 && trials.every(({ reward }) => reward === 1) ? 0 : 1;
} catch (error) {
  say(`demo: ${(error as Error).message}`);
  process.exitCode = 1;
} finally {
  await end();
}

/** Runs `viv eval` as anybody would, on the demo's node. Returns the job's directory. */
async function evaluate(url: string, apiKey: string): Promise<string> {
  const jobsDir = join(STATE_DIR, 'demo-jobs');
  // Only the last run's results are kept.
  rmSync(jobsDir, { recursive: true, force: true });
  const jobName = new Date().toISOString().replaceAll(/[^0-9]/g, '');
  const words = ['examples/tasks', '-a', 'oracle', '-k', String(ATTEMPTS), '-n', String(AT_ONCE)];
  say(`viv eval ${words.join(' ')}`);
  running = true;
  const argv = ['eval', ...words, '-o', jobsDir, '--job-name', jobName, '--no-keep-state'];
  const child = spawn(join(ROOT, 'bin/viv'), argv, {
    cwd: ROOT,
    env: { ...process.env, VIV_URL: url, VIV_API_KEY: apiKey },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const [code, signal] = (await once(child, 'exit')) as [number | null, string | null];
  running = false;
  if (code !== 0) throw new Error(`viv eval ended with ${signal ?? code}`);
  return join(jobsDir, jobName);
}
