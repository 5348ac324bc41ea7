/**
 * Runs the test suites in order, one line each, and ends with `N passed, N failed`. Everything runs even when something
 * fails. Full logs are kept in a temporary directory that is named when there is a reason to look.
 *
 *   scripts/test.ts [SUITE …]    tidy lint types unit guest kernel e2e (all but long by default)
 */
import { spawn } from 'node:child_process';
import { createWriteStream, globSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { findLeaks, prepareRun, type TestRun } from '../test/harness/leaks.ts';

const ROOT = resolve(import.meta.dirname, '..');
const BIN = join(ROOT, 'node_modules/.bin');
const SUITE_LIMIT_MS = 20 * 60_000;
const LONG_LIMIT_MS = 3 * 3_600_000;

type Result = { passed: number; failed: number; skipped: number };
type Suite = { name: string; run: (log: string) => Promise<Result>; leaks: boolean; byDefault: boolean };

const unit = () =>
  globSync('{packages/*/src,scripts}/**/*.test.ts', { cwd: ROOT }).filter((file) => !file.includes('.kernel.'));
const kernel = () => [
  ...globSync('packages/*/src/**/*.kernel.test.ts', { cwd: ROOT }),
  ...globSync('test/kernel/*.test.ts', { cwd: ROOT }),
];

const SUITES: Suite[] = [
  { name: 'tidy', run: tests(() => ['test/tidy.test.ts']), leaks: false, byDefault: true },
  { name: 'lint', run: command(join(BIN, 'biome'), 'check', '--error-on-warnings'), leaks: false, byDefault: true },
  { name: 'types', run: command(join(BIN, 'tsc'), '-p', '.'), leaks: false, byDefault: true },
  { name: 'unit', run: tests(unit), leaks: true, byDefault: true },
  { name: 'guest', run: tests(() => globSync('guest/test/*.test.ts', { cwd: ROOT })), leaks: true, byDefault: true },
  { name: 'kernel', run: tests(kernel), leaks: true, byDefault: true },
  { name: 'e2e', run: tests(() => globSync('test/e2e/*.test.ts', { cwd: ROOT })), leaks: true, byDefault: true },
  {
    name: 'long',
    run: tests(() => globSync('test/{long,vm}/*.test.ts', { cwd: ROOT }), LONG_LIMIT_MS),
    leaks: true,
    byDefault: false,
  },
];

const names = process.argv.slice(2);
const unknown = names.find((name) => !SUITES.some((suite) => suite.name === name));
if (unknown !== undefined) {
  console.error(`no suite '${unknown}'; there are ${SUITES.map((suite) => suite.name).join(', ')}`);
  process.exit(2);
}

const testRun: TestRun = prepareRun();
const logs = mkdtempSync('/tmp/viv-test-logs-');
let leaky = false;
const total: Result = { passed: 0, failed: 0, skipped: 0 };
for (const suite of SUITES.filter((s) => (names.length === 0 ? s.byDefault : names.includes(s.name)))) {
  const started = Date.now();
  const log = join(logs, `${suite.name}.log`);
  const result = await suite.run(log);
  const leaked = suite.leaks ? await findLeaks(testRun) : [];
  if (leaked.length > 0) {
    leaky = true;
    result.failed += 1;
  }
  report(suite, result, leaked, log, Date.now() - started);
  total.passed += result.passed;
  total.failed += result.failed;
  total.skipped += result.skipped;
}
if (!leaky) rmSync(testRun.directory, { recursive: true, force: true });
if (total.failed === 0) rmSync(logs, { recursive: true });
else console.log(`logs: ${logs}${leaky ? `; what was left behind belongs to ${testRun.directory}` : ''}`);
if (total.skipped > 0) console.log(`${total.skipped} skipped`);
console.log(`${total.passed} passed, ${total.failed} failed`);
process.exitCode = total.failed === 0 ? 0 : 1;

function report(suite: Suite, result: Result, leaked: string[], log: string, ms: number): void {
  const verdict = result.failed === 0 ? 'ok    ' : 'FAILED';
  const skipped = result.skipped === 0 ? '' : `, ${result.skipped} skipped`;
  console.log(
    `${verdict} ${suite.name.padEnd(7)} ${String(result.passed).padStart(4)} passed, ${result.failed} failed${skipped} (${(ms / 1000).toFixed(1)} s)`,
  );
  for (const leak of leaked) console.log(`       left behind: ${leak}`);
  if (result.failed > 0) console.log(failures(log));
}

/** The part of a log that says what failed, bounded. */
function failures(log: string): string {
  const text = readFileSync(log, 'utf8');
  const start = text.lastIndexOf('✖ failing tests:');
  const lines = (start < 0 ? text.slice(-6000) : text.slice(start, start + 12_000)).split('\n');
  return lines.map((line) => `       ${line}`).join('\n');
}

/** A suite of test files for node:test, two at a time (each file is a process of its own). */
function tests(files: () => string[], limitMs = SUITE_LIMIT_MS): Suite['run'] {
  return async (log) => {
    const list = files().sort();
    if (list.length === 0) return { passed: 0, failed: 0, skipped: 0 };
    const args = ['--disable-warning=ExperimentalWarning', '--test', '--test-concurrency=2', '--test-reporter=spec'];
    const code = await run(join(BIN, 'node'), [...args, ...list], log, limitMs);
    const text = readFileSync(log, 'utf8');
    const count = (what: string) => Number(text.match(new RegExp(`^ℹ ${what} (\\d+)$`, 'm'))?.[1] ?? 0);
    const failed = count('fail') + count('cancelled');
    return {
      passed: count('pass'),
      failed: code !== 0 && failed === 0 ? 1 : failed,
      skipped: count('skipped') + count('todo'),
    };
  };
}

/** A suite that is one command: it passes or fails. */
function command(program: string, ...args: string[]): Suite['run'] {
  return async (log) => {
    const code = await run(program, args, log, SUITE_LIMIT_MS);
    return { passed: code === 0 ? 1 : 0, failed: code === 0 ? 0 : 1, skipped: 0 };
  };
}

function run(program: string, args: string[], log: string, limitMs: number): Promise<number> {
  mkdirSync(testRun.directory, { recursive: true });
  const env: NodeJS.ProcessEnv = { ...process.env, ...testRun.env, PATH: `${BIN}:${process.env.PATH}` };
  return new Promise((resolveCode) => {
    const output = createWriteStream(log);
    const child = spawn(program, args, { cwd: ROOT, env, stdio: ['ignore', 'pipe', 'pipe'] });
    const timer = setTimeout(() => {
      output.write(`\nthe suite took longer than ${limitMs / 60_000} minutes and was killed\n`);
      child.kill('SIGKILL');
    }, limitMs);
    child.stdout.pipe(output, { end: false });
    child.stderr.pipe(output, { end: false });
    const finish = (code: number) => {
      clearTimeout(timer);
      output.end(() => resolveCode(code));
    };
    child.on('error', (error) => {
      output.write(String(error));
      finish(127);
    });
    child.on('close', (code) => finish(code ?? 1));
  });
}
