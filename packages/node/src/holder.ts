/**
 * This is the holder: the process that keeps the node's private mount namespace alive while the server restarts. It is
 * started by `unshare --mount` (which makes the namespace) or, inside it, by a server whose holder was killed. Beside that it
 * starts a server again that died (reviver.ts), and nothing else, so that nothing can bring it down.
 *
 *   holder.ts RECORD    writes itself down at RECORD, prints "ready", sleeps
 */
import { execFileSync } from 'node:child_process';
import { readFileSync, writeSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { dropRecord, writeRecord } from './process-record.ts';
import { watchServer } from './reviver.ts';

const record = process.argv[2];
if (record === undefined) throw new Error('usage: holder.ts RECORD');

hideEmptyCgroup2();
writeRecord(record);
process.on('SIGTERM', () => {
  dropRecord(record);
  process.exit(0);
});
process.on('SIGHUP', () => {});
process.on('SIGINT', () => {});
watchServer(join(dirname(record), 'server.json'));
writeSync(1, 'ready\n');

/**
 * Where cgroup v1 hierarchies and a v2 tree are mixed, crun refuses to run unless the v2 tree is out of sight. This is the
 * node's own namespace: the host's view does not change.
 */
function hideEmptyCgroup2(): void {
  const mounts = readFileSync('/proc/self/mountinfo', 'latin1').split('\n').map(parseMount);
  if (!mounts.some((mount) => mount?.type === 'cgroup')) return;
  for (const mount of mounts) {
    if (mount?.type === 'cgroup2') execFileSync('umount', ['--', mount.target], { stdio: 'ignore' });
  }
}

/** One line of /proc/PID/mountinfo (proc_pid_mountinfo(5)); the targets looked for here have no escapes. */
function parseMount(line: string): { target: string; type: string } | undefined {
  const [left, right] = line.split(' - ');
  const target = left?.split(' ')[4];
  const type = right?.split(' ')[0];
  return target === undefined || type === undefined ? undefined : { target, type };
}
