import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { inFlight } from './samples.ts';
import { shell, type Testbed } from './testbed.ts';

/** Everything a sandbox is made of, counted from the host. */
export type Inventory = Record<
  'processes' | 'mounts' | 'cgroups' | 'namespaces' | 'subvolumes' | 'sockets' | 'descriptors' | 'entries',
  number
>;

/** `count` cycles of create, exec and end, 16 at a time; a third end in other ways: killed in mid-exec, in mid-create, or PID 1 shot from the host. */
export async function leaks(bed: Testbed, count = 5000): Promise<Record<string, number>> {
  await cycles(bed, 200);
  const before = await settledInventory(bed);
  const rss = bed.serverRssMiB();
  await cycles(bed, count);
  const after = await settledInventory(bed, before);
  const growth = bed.serverRssMiB() - rss;
  const leaked: string[] = [];
  let sum = 0;
  for (const key of Object.keys(after) as (keyof Inventory)[]) {
    const more = Math.max(0, after[key] - before[key]);
    if (more > 0) leaked.push(`${key} ${before[key]} -> ${after[key]}`);
    sum += more;
  }
  if (leaked.length > 0) process.stderr.write(`  leaked: ${leaked.join(', ')}\n`);
  return { leaks_after: sum, leaks_rss_growth_mib: growth };
}

async function cycles(bed: Testbed, count: number): Promise<void> {
  let seed = 12_345;
  const random = () => {
    seed = (seed * 1_103_515_245 + 12_345) & 0x7fffffff;
    return seed / 0x7fffffff;
  };
  await inFlight(count, 16, async () => {
    const dice = random();
    const { id } = await bed.http.create(bed.image);
    if (dice < 0.1) {
      const run = bed.http.exec(id, ['sleep', '30']).catch(() => {});
      await sleep(random() * 20);
      await bed.http.kill(id);
      await run;
    } else if (dice < 0.2) {
      shootInit(id);
      await bed.http.kill(id);
    } else if (dice < 0.3) {
      await bed.http.exec(id, ['sh', '-c', 'sleep 60 & (setsid sleep 60 &) ; echo x > /tmp/f']);
      await bed.http.kill(id);
    } else {
      await bed.http.exec(id, ['true']);
      await bed.http.kill(id);
    }
  });
}

/** SIGKILL to the sandbox's PID 1, found by its control group. */
function shootInit(id: string): void {
  for (const pid of cgroupPids(id)) {
    try {
      process.kill(pid, 'SIGKILL');
    } catch {
      // It had ended by itself.
    }
  }
}

function cgroupPids(id: string): number[] {
  for (const dir of shell(`find /sys/fs/cgroup -type d -name '*${id}*' 2>/dev/null | head -3`).split('\n')) {
    try {
      const pids = readFileSync(join(dir, 'cgroup.procs'), 'utf8')
        .trim()
        .split('\n')
        .map(Number)
        .filter((pid) => pid > 1);
      if (pids.length > 0) return pids;
    } catch {
      // Gone meanwhile.
    }
  }
  return [];
}

/** Dying cgroups and deleted subvolumes go with a delay: ask for reclaim and wait (bounded) until the counts stop falling below `floor`. */
async function settledInventory(bed: Testbed, floor?: Inventory): Promise<Inventory> {
  bed.http.disconnect();
  let last = inventory(bed);
  for (let i = 0; i < 30; i++) {
    shell('sync; echo 3 > /proc/sys/vm/drop_caches');
    await sleep(1000);
    const now = inventory(bed);
    const same = (Object.keys(now) as (keyof Inventory)[]).every((key) => now[key] === last[key]);
    const clean =
      floor === undefined || (Object.keys(now) as (keyof Inventory)[]).every((key) => now[key] <= floor[key]);
    last = now;
    if (clean && (floor !== undefined || same)) break;
  }
  return last;
}

function inventory(bed: Testbed): Inventory {
  const pid = bed.serverPid();
  const inNode = (command: string) => Number(shell(`nsenter --mount=/proc/${pid}/ns/mnt sh -c '${command}'`));
  return {
    processes: Number(shell("ps -eo comm= | grep -c -E '^(viv-init|crun|sleep|bash)' || true")),
    mounts: readFileSync(`/proc/${pid}/mountinfo`, 'utf8').split('\n').length,
    cgroups: readFileSync('/proc/cgroups', 'utf8')
      .split('\n')
      .filter((line) => /^(memory|pids|cpu|freezer)\s/.test(line))
      .reduce((sum, line) => sum + Number(line.split(/\s+/)[2]), 0),
    namespaces: Number(
      shell(
        'ls -l /proc/[0-9]*/ns/net /proc/[0-9]*/ns/mnt /proc/[0-9]*/ns/user 2>/dev/null | grep -o "[a-z]*:\\[[0-9]*\\]" | sort -u | wc -l',
      ),
    ),
    subvolumes: inNode(`btrfs subvolume list ${bed.runDir}/scratch 2>/dev/null | wc -l`),
    sockets: readdirSync(join(bed.runDir, 's')).length,
    descriptors: readdirSync(`/proc/${pid}/fd`).length,
    entries: readdirSync(bed.runDir, { recursive: true }).filter(
      (name) => !String(name).startsWith('layers') && !String(name).startsWith('scratch'),
    ).length,
  };
}
