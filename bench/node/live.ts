import { setTimeout as sleep } from 'node:timers/promises';
import { ForeignCpu } from './foreign-cpu.ts';
import { inFlight } from './samples.ts';
import { memAvailableMiB, mustExit, type Testbed } from './testbed.ts';

/**
 * As many live sandboxes as asked for, each with an idle `bash` beside PID 1, then an exec in each.
 * Memory is the fall of MemAvailable over all, so the kernel's share and the server's are in it. `create_rate_kept_of_cpu_left` says how much of the
 * difference is not the CPU time that other programs of the machine took.
 */
export async function liveSandboxes(bed: Testbed, count: number, foreign: ForeignCpu): Promise<Record<string, number>> {
  const before = memAvailableMiB();
  const ids: string[] = [];
  const done: number[] = [];
  const foreignSeconds: number[] = [];
  const window = Math.min(1000, Math.floor(count / 2));
  const edges = new Set([window, count - window, count]);
  const foreignBefore = foreign.seconds();
  const start = performance.now();
  await inFlight(count, 16, async () => {
    const { id } = await bed.http.create(bed.image, { limits: { memoryMiB: 256, diskMiB: 256, pids: 64 }, ttlS: 7200 });
    ids.push(id);
    // A pipe that never ends keeps bash waiting for input, as an agent's shell between two turns does.
    await bed.http.exec(id, ['bash', '-c', 'exec 3<> <(:); read -u 3 line'], { detach: true });
    done.push(performance.now() - start);
    if (edges.has(done.length)) foreignSeconds.push(foreign.seconds());
    if (done.length % 1000 === 0)
      process.stderr.write(
        `  ${done.length} live, ${Math.round(done.length / ((performance.now() - start) / 1000))}/s\n`,
      );
  });
  const took = (from: number, to: number) => (done[to - 1]! - (done[from - 1] ?? 0)) / 1000;
  const [firstS, lastS] = [took(0, window), took(count - window, count)];
  const foreignFirst = (foreignSeconds[0]! - foreignBefore) / firstS;
  const foreignLast = (foreignSeconds.at(-1)! - foreignSeconds.at(-2)!) / lastS;
  const kept = firstS / lastS;
  const keptOfCpu = (kept * (ForeignCpu.cpus - foreignFirst)) / (ForeignCpu.cpus - foreignLast);
  await sleep(2000);
  const perSandbox = (before - memAvailableMiB()) / count;
  const rss = bed.serverRssMiB();
  let answered = 0;
  await inFlight(count, 16, async (i) => {
    mustExit(await bed.http.exec(ids[i]!, ['true']));
    answered++;
  });
  await inFlight(count, 16, async (i) => void (await bed.http.kill(ids[i]!)));
  return {
    live_containers: answered,
    mem_per_sandbox_mib: perSandbox,
    create_rate_kept: kept,
    foreign_cpus_first: foreignFirst,
    foreign_cpus_last: foreignLast,
    create_rate_kept_of_cpu_left: keptOfCpu,
    server_rss_mib: rss,
  };
}
