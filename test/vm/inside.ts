/**
 * Runs inside the VM (Debian 12: Linux 6.1, cgroup v2, AppArmor; no file-backed EROFS mounts, no simple quotas): a real node, driven by
 * the SDK, checked where this kernel differs from newer ones. Each check prints one line `CHECK {json}`.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Sandbox, Vivarium } from '@vivarium/sdk';

const STATE = '/var/lib/vivarium';
const RUN = '/run/vivarium';
const URL = 'http://127.0.0.1:7700';
const IMAGE = 'base/busybox@1';
const VIV = join(import.meta.dirname, '../../bin/viv');

let failures = 0;
async function check(name: string, job: () => Promise<unknown>): Promise<void> {
  let detail = '';
  let ok = true;
  try {
    await job();
  } catch (error) {
    ok = false;
    failures++;
    detail = String(error instanceof Error ? (error.stack ?? error.message) : error).slice(0, 3000);
  }
  // A boot message may have left the serial console in the middle of a line.
  console.log(`\nCHECK ${JSON.stringify({ name, ok, detail })}`);
}

function equal(got: unknown, expected: unknown, what: string): void {
  if (JSON.stringify(got) !== JSON.stringify(expected))
    throw new Error(`${what}: got ${JSON.stringify(got)}, expected ${JSON.stringify(expected)}`);
}

function truth(condition: boolean, what: string): void {
  if (!condition) throw new Error(what);
}

function viv(...args: string[]): string {
  const { status, signal, stdout, stderr } = spawnSync(VIV, args, { encoding: 'utf8', timeout: 240_000 });
  if (status !== 0)
    throw new Error(`viv ${args.join(' ')}: exit ${status ?? signal}\n${stdout}\n${stderr}\n${crashLog()}`);
  return stdout;
}

/** The end of what a server that crashed said. */
function crashLog(): string {
  const path = join(STATE, 'log/crash.log');
  return existsSync(path) ? readFileSync(path, 'utf8').slice(-2000) : '';
}

function busyboxTar(): string {
  const script = `set -e; rm -rf /tmp/bb; mkdir -p /tmp/bb/bin /tmp/bb/etc /tmp/bb/root /tmp/bb/tmp /tmp/bb/proc /tmp/bb/dev /tmp/bb/sys
cp /bin/busybox /tmp/bb/bin/busybox
for a in $(/bin/busybox --list); do [ -e /tmp/bb/bin/$a ] || ln -s busybox /tmp/bb/bin/$a; done
echo 'root:x:0:0:root:/root:/bin/sh' >/tmp/bb/etc/passwd; echo 'root:x:0:' >/tmp/bb/etc/group; chmod 1777 /tmp/bb/tmp
tar -C /tmp/bb -cf /tmp/bb.tar .`;
  execFileSync('sh', ['-c', script]);
  return '/tmp/bb.tar';
}

const serverPid = () => (JSON.parse(readFileSync(join(RUN, 'server.json'), 'utf8')) as { pid: number }).pid;
const hostProcesses = (mark: string) =>
  readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, 'latin1').includes(mark);
      } catch {
        return false;
      }
    }).length;

async function main(): Promise<void> {
  truth(readFileSync('/sys/fs/cgroup/cgroup.controllers', 'utf8').includes('memory'), 'the guest has cgroup v2');
  await check('viv doctor says that containers can run', async () => {
    const report = viv('doctor', '--json');
    truth(report.includes('container'), report.slice(0, 300));
  });
  await check('viv up starts a node on cgroup v2', async () => void viv('up', '--detach'));
  const client = new Vivarium({ url: URL, apiKey: readFileSync(join(STATE, 'keys/first.key'), 'utf8').trim() });
  await check('a tar becomes an image', async () => {
    viv('image', 'import', IMAGE, '--tar', busyboxTar());
  });
  let box: Sandbox;
  await check('create and exec', async () => {
    box = await client.sandboxes.create({
      image: IMAGE,
      limits: { memoryMiB: 64, pids: 32, diskMiB: 32, cpus: 0.5, cpuWeight: 50 },
    });
    const result = await box.exec('echo hello; exit 7');
    equal([result.stdout, result.exitCode], ['hello\n', 7], 'result');
  });
  await check('the limits are in the cgroup v2 files', async () => {
    const dir = execFileSync('find', ['/sys/fs/cgroup', '-type', 'd', '-name', `*${box.id}*`], { encoding: 'utf8' })
      .trim()
      .split('\n')[0]!;
    const read = (file: string) => readFileSync(join(dir, file), 'utf8').trim();
    equal(read('memory.max'), String(64 << 20), 'memory.max');
    equal(read('pids.max'), '32', 'pids.max');
    equal(read('cpu.weight'), '50', 'cpu.weight');
    truth(read('cpu.max').startsWith('50000 100000'), read('cpu.max'));
  });
  await check('a command sees its control group as the root', async () => {
    const result = await box.exec('cat /proc/self/cgroup');
    truth(!result.stdout.includes('vivarium'), result.stdout);
  });
  await check('a memory hog ends as oom and the sandbox lives on', async () => {
    const result = await box.exec(
      ['sh', '-c', 'head -c 200000000 /dev/zero | tail -c 150000000 >/dev/null; wait; kill -9 $$'],
      {
        timeoutMs: 120_000,
      },
    );
    const direct = await box.exec(['tail', '-c', '150000000', '/dev/zero'], { timeoutMs: 120_000 });
    truth(direct.outcome.type === 'oom', `${JSON.stringify(direct.outcome)} after ${JSON.stringify(result.outcome)}`);
    equal((await box.exec('echo alive')).stdout, 'alive\n', 'afterwards');
  });
  await check('a time-out ends what left its session', async () => {
    const result = await box.exec('setsid sh -c "setsid sleep 4711 & sleep 4711" & sleep 4711', { timeoutMs: 3000 });
    equal(result.outcome.type, 'timeout', 'outcome');
    await sleep(500);
    equal(hostProcesses('4711'), 0, 'processes left');
  });
  await check('the pids limit holds against a fork bomb, which ends with its sandbox', async () => {
    const victim = await client.sandboxes.create({ image: IMAGE, limits: { memoryMiB: 64, pids: 32 } });
    await victim.exec('f() { f | f & }; f; sleep 2', { timeoutMs: 20_000 });
    const { pids, pidsLimit } = await victim.stats();
    truth(pids <= 32 && pidsLimit === 32, `${pids} of ${pidsLimit} processes`);
    equal((await box.exec('echo alive', { timeoutMs: 60_000 })).stdout, 'alive\n', 'another sandbox meanwhile');
    await victim.kill();
  });
  await check('the disk quota holds', async () => {
    const result = await box.exec('dd if=/dev/zero of=/root/fill bs=1M count=64; ls -l /root/fill; rm /root/fill', {
      timeoutMs: 120_000,
    });
    truth(/quota|No space/i.test(result.stderr), result.stderr);
    await sleep(1000);
  });
  await check('pause stops time inside, resume goes on', async () => {
    const process = await box.spawn('i=0; while [ $i -lt 5 ]; do echo $i; i=$((i+1)); sleep 0.5; done');
    await box.pause();
    await sleep(1500);
    await box.resume();
    equal((await process.result()).stdout, '0\n1\n2\n3\n4\n', 'output');
  });
  await check('kill -9 of the server loses neither sandbox nor command', async () => {
    const exec = await box.start('i=0; while [ $i -lt 40 ]; do echo line $i; i=$((i+1)); sleep 0.5; done; exit 3');
    await sleep(2000);
    process.kill(serverPid(), 'SIGKILL');
    await sleep(500);
    viv('up', '--detach');
    const result = await (await box.attach(exec.id)).result();
    const lines = Array.from({ length: 40 }, (_, i) => `line ${i}\n`).join('');
    equal([result.exitCode, result.stdout], [3, lines], 'result');
  });
  await check('stats count', async () => {
    const stats = await box.stats();
    truth(stats.memoryBytes > 0 && stats.cpuUsageUs > 0 && stats.pids >= 1, JSON.stringify(stats));
    equal(stats.memoryLimitBytes, 64 << 20, 'limit');
    truth(stats.oomKills >= 1, 'oom kills counted');
  });
  await check('viv down --purge leaves nothing', async () => {
    client.close();
    viv('down', '--purge');
    equal(readFileSync('/proc/mounts', 'utf8').includes('vivarium'), false, 'mounts');
    equal(execFileSync('losetup', ['-a'], { encoding: 'utf8' }).includes('vivarium'), false, 'loop devices');
    equal(execFileSync('find', ['/sys/fs/cgroup', '-name', '*vivarium*'], { encoding: 'utf8' }), '', 'control groups');
    equal(hostProcesses('viv-init'), 0, 'processes');
  });
}

await main();
process.exit(failures === 0 ? 0 : 1);
