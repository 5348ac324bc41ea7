import { accessSync, constants, existsSync, statfsSync, writeFileSync } from 'node:fs';
import { release } from 'node:os';
import { delimiter, join } from 'node:path';
import { type Capability, VivError } from '@vivarium/protocol';
import { makeDirectory } from '@vivarium/protocol/make-directory.ts';
import { type NodePaths, ROOT, VIV_INIT } from './paths.ts';

const SETUP = join(ROOT, 'scripts/setup.sh');
const KERNEL_MIN = [6, 1] as const;
const DISK_MIN_MIB = 1024;
const PROGRAMS = [
  ['crun', 'crun'],
  ['unshare', 'util-linux'],
  ['nsenter', 'util-linux'],
  ['flock', 'util-linux'],
  ['losetup', 'mount'],
  ['umount', 'mount'],
  ['mkfs.btrfs', 'btrfs-progs'],
  ['mkfs.erofs', 'erofs-utils'],
] as const;

/** What the machine must have before a node can start, in the order in which a user would put it right. */
export function machineChecks(): Capability[] {
  return [
    check(
      'linux',
      process.platform === 'linux',
      `this is ${process.platform}`,
      'Run the node on Linux; use `viv login URL` from here.',
    ),
    check('x86-64', process.arch === 'x64', `this is ${process.arch}`, 'Use an x86-64 machine.'),
    check('root', process.geteuid?.() === 0, `not root (uid ${process.geteuid?.()})`, 'Run as root (sudo).'),
    check(
      'kernel',
      kernelAtLeast(...KERNEL_MIN),
      `kernel ${release()} is too old`,
      `Linux ${KERNEL_MIN.join('.')} or later: Debian 12/13, Ubuntu 24.04.`,
    ),
    ...PROGRAMS.map(([program, debian]) =>
      check(
        `program ${program}`,
        findProgram(program) !== undefined,
        `${program} is not installed`,
        `Run ${SETUP} (or: apt-get install ${debian}).`,
      ),
    ),
    check('viv-init', existsSync(VIV_INIT), `${VIV_INIT} is not built`, `Run ${SETUP} (or: make -C guest).`),
  ];
}

/** Throws `precondition_failed` naming everything that is missing. Nothing has been touched then. */
export function requireMachine(): void {
  const missing = machineChecks().filter((row) => !row.ok);
  if (missing.length === 0) return;
  throw new VivError('precondition_failed', missing.map((row) => row.reason).join('; '), {
    hint: [...new Set(missing.map((row) => row.remedy))].join(' '),
    details: { missing: missing.map((row) => row.name) },
  });
}

/** Makes the state directory, checks that it can be written and that its disk is not full already. */
export function requireStateDir(paths: NodePaths): void {
  try {
    makeDirectory(paths.stateDir, 0o700);
    accessSync(paths.stateDir, constants.W_OK | constants.X_OK);
    writeFileSync(paths.marker, 'This directory belongs to a Vivarium node; `viv down --purge` deletes it.\n');
  } catch (cause) {
    throw new VivError(
      'precondition_failed',
      `the state directory ${paths.stateDir} can't be written: ${(cause as Error).message}`,
      {
        hint: 'Choose another with --state-dir, or make it writable.',
        cause,
      },
    );
  }
  const freeMiB = diskFreeMiB(paths.stateDir);
  if (freeMiB >= DISK_MIN_MIB) return;
  throw new VivError('node_disk_full', `${paths.stateDir} has ${freeMiB} MiB free, ${DISK_MIN_MIB} MiB are needed`);
}

export function diskFreeMiB(path: string): number {
  const fs = statfsSync(path);
  return Math.floor((fs.bavail * fs.bsize) / 2 ** 20);
}

export function kernelAtLeast(major: number, minor: number, kernel = release()): boolean {
  const [haveMajor = 0, haveMinor = 0] = kernel.split(/[.-]/).map(Number);
  return haveMajor > major || (haveMajor === major && haveMinor >= minor);
}

/** Absolute path of a program, looked for in PATH and where administrators' programs are. */
export function findProgram(name: string): string | undefined {
  const directories = [
    ...(process.env.PATH ?? '').split(delimiter),
    '/usr/local/sbin',
    '/usr/sbin',
    '/sbin',
    '/usr/bin',
    '/bin',
  ];
  return directories
    .filter((directory) => directory.startsWith('/'))
    .map((directory) => join(directory, name))
    .find(isExecutable);
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

function check(name: string, ok: boolean, reason: string, remedy: string): Capability {
  return { name, kind: null, ok, reason: ok ? null : reason, remedy: ok ? null : remedy };
}
