import { appendFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { runCommand } from './command.ts';

export const ROOT = resolve(import.meta.dirname, '../..');
export const BIN = join(ROOT, 'node_modules/.bin');

const COMMAND_LIMIT_MS = 10 * 60_000;
/** Test files at once; each is a process of its own. */
const FILES_AT_ONCE = 2;

export type Result = { passed: number; failed: number; skipped: number; failures: string };
export type Run = (log: string, env: NodeJS.ProcessEnv) => Promise<Result>;

/** A suite that is one command: it passes or fails. */
export function commandSuite(...argv: string[]): Run {
  return async (log, env) => {
    const { code, output } = await runCommand(argv, { cwd: ROOT, env, limitMs: COMMAND_LIMIT_MS });
    appendFileSync(log, output);
    const failed = code === 0 ? 0 : 1;
    return { passed: 1 - failed, failed, skipped: 0, failures: failed === 0 ? '' : output.slice(-6000) };
  };
}

/** A suite of test files for node:test. A file that does not end within the limit is killed and has failed. */
export function testSuite(files: () => string[], fileLimitMs: number): Run {
  return async (log, env) => {
    const total: Result = { passed: 0, failed: 0, skipped: 0, failures: '' };
    const queue = files().sort();
    const lane = async () => {
      for (let file = queue.shift(); file !== undefined; file = queue.shift()) {
        add(total, await testFile(file, env, fileLimitMs, log));
      }
    };
    await Promise.all(Array.from({ length: FILES_AT_ONCE }, lane));
    return total;
  };
}

/** Several runs as one suite, in order. */
export function sequence(...runs: Run[]): Run {
  return async (log, env) => {
    const total: Result = { passed: 0, failed: 0, skipped: 0, failures: '' };
    for (const run of runs) add(total, await run(log, env));
    return total;
  };
}

/** The same with other environment variables. */
export function withEnv(extra: Record<string, string>, run: Run): Run {
  return (log, env) => run(log, { ...env, ...extra });
}

function add(total: Result, result: Result): void {
  total.passed += result.passed;
  total.failed += result.failed;
  total.skipped += result.skipped;
  total.failures += result.failures;
}

async function testFile(file: string, env: NodeJS.ProcessEnv, limitMs: number, log: string): Promise<Result> {
  const argv = [join(BIN, 'node'), '--disable-warning=ExperimentalWarning', '--test-reporter=spec', file];
  const { code, output, timedOut } = await runCommand(argv, { cwd: ROOT, env, limitMs });
  const ending = timedOut ? `killed: it did not end within ${limitMs / 60_000} minutes\n` : '';
  appendFileSync(log, `=== ${file}\n${output}${ending}`);
  const count = (what: string) => Number(output.match(new RegExp(`^ℹ ${what} (\\d+)$`, 'm'))?.[1] ?? 0);
  const counted = count('fail') + count('cancelled');
  const failed = counted === 0 && code !== 0 ? 1 : counted;
  const failures = failed === 0 ? '' : `--- ${file}\n${failurePart(output)}${ending}`;
  return { passed: count('pass'), failed, skipped: count('skipped') + count('todo'), failures };
}

/** The part of node's report that says what failed, bounded. */
function failurePart(output: string): string {
  const start = output.lastIndexOf('✖ failing tests:');
  return start < 0 ? output.slice(-3000) : output.slice(start + '✖ failing tests:'.length, start + 6000);
}
