/**
 * Finds what tests left behind on this machine. Everything a test makes carries a mark of its run: processes the environment
 * variable VIV_TEST_RUN, files, mounts, loop devices and control groups the path of the run's directory or of a run
 * directory under /run that belongs to a state directory below it. So other nodes and other runs on the machine don't disturb.
 */
import { createHash, randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

export type TestRun = { id: string; directory: string; env: Record<string, string> };

/** What ends by itself a moment after a test (a killed process being reaped, a mount going with its namespace) has this long. */
const SETTLE_MS = 5000;
const STEP_MS = 100;

/** A mark and a temporary directory (TMPDIR) for one run of the suites. */
export function prepareRun(): TestRun {
  const id = randomBytes(4).toString('hex');
  const directory = `/var/tmp/viv-test-${id}`;
  mkdirSync(directory, { recursive: true, mode: 0o711 });
  return { id, directory, env: { VIV_TEST_RUN: id, TMPDIR: directory } };
}

/** Names of what is left, empty when nothing is. Waits a little for what is just ending. */
export async function findLeaks(run: TestRun): Promise<string[]> {
  for (let waited = 0; ; waited += STEP_MS) {
    const leaks = leaksNow(run);
    if (leaks.length === 0 || waited >= SETTLE_MS) return leaks;
    await delay(STEP_MS);
  }
}

/** What is there at this moment. */
export function leaksNow(run: TestRun): string[] {
  const marks = [run.directory, ...runDirectories(run)];
  return [...processes(run), ...mounts(marks), ...loopDevices(run), ...cgroups(marks), ...sockets(marks)];
}

/** Run directories of state directories below the run's directory (packages/node/src/paths.ts makes the name). */
function runDirectories(run: TestRun): string[] {
  const states = readdirSync(run.directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name === 'vivarium-state')
    .map((entry) => entry.parentPath);
  const known = readList(join(run.directory, 'run-dirs'));
  const names = states.map((state) => `/run/vivarium-${shortHash(state)}`);
  return [...new Set([...known, ...names])];
}

function processes(run: TestRun): string[] {
  const mark = `VIV_TEST_RUN=${run.id}`;
  return pids()
    .filter((pid) => pid !== process.pid && read(`/proc/${pid}/environ`).split('\0').includes(mark))
    .map((pid) => `process ${pid}: ${read(`/proc/${pid}/cmdline`).replaceAll('\0', ' ').trim().slice(0, 150)}`);
}

/** Mounts in every namespace that some process lives in; a namespace is looked at once. */
function mounts(marks: string[]): string[] {
  const seen = new Set<string>();
  const leaks: string[] = [];
  for (const pid of pids()) {
    const namespace = link(`/proc/${pid}/ns/mnt`);
    if (namespace === undefined || seen.has(namespace)) continue;
    seen.add(namespace);
    for (const line of read(`/proc/${pid}/mountinfo`).split('\n')) {
      if (marks.some((mark) => line.includes(mark)))
        leaks.push(`mount in the namespace of pid ${pid}: ${line.slice(0, 200)}`);
    }
  }
  return leaks;
}

function loopDevices(run: TestRun): string[] {
  return readdirSync('/sys/block')
    .filter((name) => name.startsWith('loop') && read(`/sys/block/${name}/loop/backing_file`).includes(run.directory))
    .map((name) => `loop device ${name}: ${read(`/sys/block/${name}/loop/backing_file`).trim()}`);
}

/** Control groups of a node are named for its run directory, as the container driver does it. */
function cgroups(marks: string[]): string[] {
  const names = new Set(marks.filter((mark) => mark.startsWith('/run/')).map((mark) => `vivarium-${shortHash(mark)}`));
  if (names.size === 0) return [];
  return directoriesBelow('/sys/fs/cgroup', 5)
    .filter((path) => names.has(path.slice(path.lastIndexOf('/') + 1)))
    .map((path) => `control group ${path}`);
}

function sockets(marks: string[]): string[] {
  return read('/proc/net/unix')
    .split('\n')
    .filter((line) => marks.some((mark) => line.includes(`${mark}/`)))
    .map((line) => `unix socket ${line.slice(line.indexOf('/'))}`);
}

function shortHash(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 8);
}

function directoriesBelow(path: string, depth: number): string[] {
  if (depth === 0 || !existsSync(path)) return [];
  try {
    const children = readdirSync(path, { withFileTypes: true }).filter((entry) => entry.isDirectory());
    return children.flatMap((entry) => [
      join(path, entry.name),
      ...directoriesBelow(join(path, entry.name), depth - 1),
    ]);
  } catch {
    return [];
  }
}

function pids(): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number);
}

function readList(path: string): string[] {
  return read(path)
    .split('\n')
    .filter((line) => line !== '');
}

/** Contents, or nothing when it is gone meanwhile. */
function read(path: string): string {
  try {
    return readFileSync(path, 'latin1');
  } catch {
    return '';
  }
}

function link(path: string): string | undefined {
  try {
    return readlinkSync(path);
  } catch {
    return undefined;
  }
}
