import { closeSync, linkSync, openSync, readFileSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { VivError } from '@vivarium/sdk';
import { readJson } from './json-file.ts';

type Holder = { pid: number; startTime: string; host: string };

const FILE = 'runner.lock';

/**
 * One runner per job directory. The file names a process by pid and start time (proc(5), /proc/PID/stat field 22), so that
 * a lock of a process that is gone, or whose pid went to another one, is taken over. Throws `job_running` while it is held.
 */
export class RunnerLock implements Disposable {
  readonly #path: string;

  private constructor(path: string) {
    this.#path = path;
  }

  static take(jobDir: string): RunnerLock {
    const path = join(jobDir, FILE);
    const mine: Holder = { pid: process.pid, startTime: startTime(process.pid) ?? '', host: machine() };
    const draft = `${path}.${process.pid}`;
    const fd = openSync(draft, 'w', 0o644);
    writeSync(fd, `${JSON.stringify(mine)}\n`);
    closeSync(fd);
    try {
      for (let tries = 0; ; tries++) {
        try {
          // link(2) fails when the name is there: one of several wins.
          linkSync(draft, path);
          return new RunnerLock(path);
        } catch (error) {
          if ((error as NodeJS.ErrnoException).code !== 'EEXIST' || tries > 3) throw error;
        }
        refuseIfAlive(path, jobDir);
        rmSync(path, { force: true });
      }
    } finally {
      rmSync(draft, { force: true });
    }
  }

  [Symbol.dispose](): void {
    rmSync(this.#path, { force: true });
  }
}

/** Who runs the job right now; undefined: nobody. */
export function runnerOf(jobDir: string): { pid: number } | undefined {
  const holder = readJson<Holder>(join(jobDir, FILE));
  return holder && isAlive(holder) ? holder : undefined;
}

function refuseIfAlive(path: string, jobDir: string): void {
  const holder = readJson<Holder>(path);
  if (!holder || !isAlive(holder)) return;
  throw new VivError('job_running', `another viv (pid ${holder.pid}${where(holder)}) runs the job ${jobDir}`);
}

function where(holder: Holder): string {
  return holder.host === machine() ? '' : ' on another machine or since an earlier boot';
}

/** A holder of another boot or machine can't be looked at here: a shared job directory is taken to be in use. */
function isAlive(holder: Holder): boolean {
  if (holder.host !== machine()) return holder.host.split(' ')[0] !== machine().split(' ')[0];
  return startTime(holder.pid) === holder.startTime;
}

/** Host name and boot. */
function machine(): string {
  const read = (path: string) => {
    try {
      return readFileSync(path, 'utf8').trim();
    } catch {
      return '';
    }
  };
  return `${read('/proc/sys/kernel/hostname')} ${read('/proc/sys/kernel/random/boot_id')}`;
}

function startTime(pid: number): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19];
  } catch {
    return undefined;
  }
}
