import { spawn } from 'node:child_process';
import type { Disks } from './disk.ts';

/** A check that ran inside the guest. */
export type Check = { name: string; ok: boolean; detail: string };

/**
 * Boots the disks under QEMU's software emulation (so it works wherever the tests run), without any network, and reads the checks off the
 * serial console: lines `CHECK {json}`. The guest powers itself off; past `timeoutMs` it is ended.
 */
export function bootAndCheck(
  disks: Disks,
  timeoutMs: number,
): Promise<{ checks: Check[]; exitCode: number | null; console: string }> {
  // One thread and an old CPU: programs that compile themselves at run time (V8) were seen to die of signals under QEMU 7.2 with several emulating
  // threads, with and without AVX; that is QEMU's, for on real CPUs the same programs don't.
  const args = [
    ['-M', 'q35', '-accel', 'tcg,thread=single', '-cpu', 'Nehalem', '-m', '2048', '-smp', '1'],
    ['-nographic', '-no-reboot', '-nodefaults', '-serial', 'stdio', '-net', 'none'],
    ['-kernel', disks.kernel, '-initrd', disks.initrd],
    ['-append', 'root=/dev/vda rw console=ttyS0 quiet loglevel=2 tsc_early_khz=2100000 no_timer_check init=/vm-init'],
    [
      '-drive',
      `file=${disks.root},format=raw,if=virtio,cache=unsafe`,
      '-drive',
      `file=${disks.repo},format=raw,if=virtio,readonly=on`,
    ],
  ].flat();
  return new Promise((resolve, reject) => {
    const child = spawn('qemu-system-x86_64', args, { stdio: ['ignore', 'pipe', 'pipe'] });
    let text = '';
    const keep = (chunk: Buffer) => {
      text = (text + chunk.toString('latin1')).slice(-1_000_000);
    };
    child.stdout.on('data', keep);
    child.stderr.on('data', keep);
    const timer = setTimeout(() => child.kill('SIGKILL'), timeoutMs);
    child.on('error', reject);
    child.on('close', () => {
      clearTimeout(timer);
      resolve({ checks: parseChecks(text), exitCode: exitCodeOf(text), console: text });
    });
  });
}

function parseChecks(text: string): Check[] {
  return [...text.matchAll(/^CHECK (\{.*\})\r?$/gm)].map((match) => JSON.parse(match[1]!) as Check);
}

function exitCodeOf(text: string): number | null {
  const found = /^VM-EXIT (\d+)/m.exec(text);
  return found === null ? null : Number(found[1]);
}
