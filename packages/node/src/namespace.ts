import { type ChildProcess, spawn } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { VivError } from '@vivarium/protocol';
import type { NodePaths } from './paths.ts';
import { liveRecord, type ProcessRecord } from './process-record.ts';

const HOLDER = join(import.meta.dirname, 'holder.ts');
/** It only sleeps: a small heap and no optimising compiler keep it small. */
const HOLDER_FLAGS = ['--max-old-space-size=16', '--max-semi-space-size=1', '--disable-warning=ExperimentalWarning'];
const HOLDER_START_MS = 20_000;

/**
 * The holder of this node's mount namespace, started if it doesn't live. `inside`: the caller is in that namespace already
 * and its holder was lost, so the new one only joins. Throws `precondition_failed` when the namespace can't be made.
 */
export async function ensureHolder(paths: NodePaths, inside: boolean): Promise<ProcessRecord> {
  const live = liveRecord(paths.holderRecord);
  if (live !== undefined) return live;
  mkdirSync(paths.runDir, { recursive: true, mode: 0o711 });
  const holder = [process.execPath, ...HOLDER_FLAGS, HOLDER, paths.holderRecord];
  const argv = inside ? holder : ['unshare', '--mount', '--propagation', 'private', '--', ...holder];
  const child = spawn(argv[0]!, argv.slice(1), {
    cwd: '/',
    detached: true,
    env: daemonEnv(),
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  await ready(child);
  const record = liveRecord(paths.holderRecord);
  if (record === undefined) throw new VivError('internal', 'the holder said it is ready but is not there');
  return record;
}

/** Prefix that runs a command in the holder's namespace (nsenter(1)). */
export function enterNamespace(holder: ProcessRecord): string[] {
  return ['nsenter', `--mount=/proc/${holder.pid}/ns/mnt`, '--'];
}

/** What daemons of ours inherit: nothing that the user's shell happens to have, but for the harness's marker. */
export function daemonEnv(): NodeJS.ProcessEnv {
  const { PATH, TMPDIR, TZ, VIV_TEST_RUN } = process.env;
  const standard = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';
  const env: NodeJS.ProcessEnv = { PATH: PATH ? `${PATH}:${standard}` : standard, HOME: '/root', LANG: 'C.UTF-8' };
  if (TMPDIR !== undefined) env.TMPDIR = TMPDIR;
  if (TZ !== undefined) env.TZ = TZ;
  if (VIV_TEST_RUN !== undefined) env.VIV_TEST_RUN = VIV_TEST_RUN;
  return env;
}

function ready(child: ChildProcess): Promise<void> {
  return new Promise((resolve, reject) => {
    let said = '';
    let complained = '';
    const failed = (why: string) => {
      child.kill('SIGKILL');
      finish();
      reject(
        new VivError('precondition_failed', `the node's mount namespace can't be made: ${why}`, {
          hint: 'Run as root with CAP_SYS_ADMIN; `viv doctor` says more.',
        }),
      );
    };
    const timer = setTimeout(() => failed('the holder did not start in time'), HOLDER_START_MS);
    const finish = () => {
      clearTimeout(timer);
      child.removeAllListeners();
      child.stdout?.destroy();
      child.stderr?.destroy();
      child.unref();
    };
    child.stdout?.on('data', (chunk: Buffer) => {
      said += chunk.toString();
      if (!said.includes('ready\n')) return;
      finish();
      resolve();
    });
    child.stderr?.on('data', (chunk: Buffer) => {
      complained = (complained + chunk.toString()).slice(-2000);
    });
    child.once('error', (error) => failed(error.message));
    child.once('exit', (code, signal) => failed(complained.trim() || `it ended with ${signal ?? code}`));
  });
}
