/**
 * Runs the test suites in order, one line each, and ends with `N passed, N failed`. Everything runs even when something
 * fails. Full logs are kept in a temporary directory that is named when there is a reason to look.
 *
 *   scripts/test.ts [SUITE …]    tidy lint types unit guest kernel e2e (these by default), vm
 */
import { globSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findLeaks, prepareRun } from '../test/harness/leaks.ts';
import { BIN, commandSuite, ROOT, type Run, sequence, testSuite, withEnv } from './suites/suite.ts';

const MINUTE_MS = 60_000;

/** `long` ones run when they are named. */
type Suite = { name: string; run: Run; leaks: boolean; long?: true };

const files = (...patterns: string[]) => globSync(patterns, { cwd: ROOT });
const unit = () =>
  files('{packages/*/src,scripts,interpreter}/**/*.test.ts').filter((file) => !file.includes('.kernel.'));
const kernel = () => files('packages/*/src/**/*.kernel.test.ts', 'test/kernel/**/*.test.ts');

const guestFiles = testSuite(() => files('guest/test/*.test.ts'), 5 * MINUTE_MS);
/** viv-init as it ships and built with sanitizers; C unit tests; a short fuzz. */
const guest = sequence(
  commandSuite('make', '-C', 'guest', 'all', 'asan', 'build/launch'),
  commandSuite('guest/build/asan/unit'),
  guestFiles,
  withEnv({ VIV_INIT: 'asan/viv-init' }, guestFiles),
  commandSuite('make', '-C', 'guest', 'fuzz'),
);

const SUITES: Suite[] = [
  { name: 'tidy', run: testSuite(() => ['test/tidy.test.ts'], MINUTE_MS), leaks: false },
  { name: 'lint', run: commandSuite(join(BIN, 'biome'), 'check'), leaks: false },
  { name: 'types', run: commandSuite(join(BIN, 'tsc'), '-p', '.'), leaks: false },
  { name: 'unit', run: testSuite(unit, 3 * MINUTE_MS), leaks: true },
  { name: 'guest', run: guest, leaks: true },
  { name: 'kernel', run: testSuite(kernel, 5 * MINUTE_MS), leaks: true },
  { name: 'e2e', run: testSuite(() => files('test/e2e/**/*.test.ts'), 10 * MINUTE_MS), leaks: true },
  { name: 'vm', run: testSuite(() => files('test/vm/*.test.ts'), 20 * MINUTE_MS), leaks: true, long: true },
];

const names = process.argv.slice(2);
const unknown = names.find((name) => !SUITES.some((suite) => suite.name === name));
if (unknown !== undefined) {
  console.error(`no suite '${unknown}'; there are ${SUITES.map((suite) => suite.name).join(', ')}`);
  process.exit(2);
}

const testRun = prepareRun();
// npm names the Node it runs on in NODE; the tests' is the one of this package.
const env = { ...process.env, ...testRun.env, NODE: process.execPath, PATH: `${BIN}:${process.env.PATH}` };
const logs = mkdtempSync(join(tmpdir(), 'viv-test-logs-'));
const total = { passed: 0, failed: 0, skipped: 0 };
let leaky = false;
for (const suite of SUITES.filter(({ name, long }) => (names.length === 0 ? !long : names.includes(name)))) {
  const started = Date.now();
  const result = await suite.run(join(logs, `${suite.name}.log`), env);
  const leaked = suite.leaks ? await findLeaks(testRun) : [];
  leaky ||= leaked.length > 0;
  if (leaked.length > 0) result.failed += 1;
  total.passed += result.passed;
  total.failed += result.failed;
  total.skipped += result.skipped;
  const verdict = result.failed === 0 ? 'ok    ' : 'FAILED';
  const counts = `${String(result.passed).padStart(4)} passed, ${result.failed} failed`;
  const skipped = result.skipped === 0 ? '' : `, ${result.skipped} skipped`;
  console.log(
    `${verdict} ${suite.name.padEnd(6)} ${counts}${skipped} (${((Date.now() - started) / 1000).toFixed(1)} s)`,
  );
  if (leaked.length > 0) console.log(indent(`left behind:\n${leaked.join('\n')}`));
  if (result.failures !== '') console.log(indent(result.failures));
}
if (!leaky) rmSync(testRun.directory, { recursive: true, force: true });
if (total.failed === 0) rmSync(logs, { recursive: true });
else console.log(`logs: ${logs}${leaky ? `; what was left behind belongs to ${testRun.directory}` : ''}`);
if (total.skipped > 0) console.log(`${total.skipped} skipped`);
console.log(`${total.passed} passed, ${total.failed} failed`);
process.exitCode = total.failed === 0 ? 0 : 1;

function indent(text: string): string {
  return text.trimEnd().replaceAll(/^/gm, '       ');
}
