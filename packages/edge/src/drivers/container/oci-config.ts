import { statSync } from 'node:fs';
import type { Limits } from '@vivarium/protocol';
import { STARTING_CAPABILITIES } from './capability-set.ts';

/** Where PID 1 lies inside: on the /dev tmpfs, so that neither the image nor its changes show it. */
const INIT_INSIDE = '/dev/viv-init';

/** World-readable kernel files that tell about the host or could harm it; the list of containerd and Docker, and
 * the host's boot parameters. */
const MASKED = [
  '/proc/acpi',
  '/proc/asound',
  '/proc/cmdline',
  '/proc/interrupts',
  '/proc/kcore',
  '/proc/keys',
  '/proc/latency_stats',
  '/proc/sched_debug',
  '/proc/scsi',
  '/proc/timer_list',
  '/proc/timer_stats',
];
/** /proc/sys follows when PID 1 has set the sysctls of its namespaces (CONFIG). */
export const READONLY = ['/proc/bus', '/proc/fs', '/proc/irq', '/proc/sysrq-trigger'];

export type OciOptions = {
  hostname: string;
  userNamespace: string;
  rootfs: string;
  init: string;
  /** An empty directory. */
  empty: string;
  /** A file with an id of this boot of the cell. */
  bootId: string;
  limits: Limits;
  /** Present: the cell is in the network namespace of the node, with this file as its /etc/resolv.conf. */
  resolvConf?: string | undefined;
};

/**
 * The OCI runtime configuration (runtime-spec 1.0) of a cell. PID 1 begins with every namespaced capability and no
 * seccomp filter; it finalises its own confinement before it accepts the first command (guest protocol, CONFIG).
 * No sysfs and no cgroup file system inside; the network namespace holds a loopback device, which crun brings up.
 *
 * Never set a `sysctl` here: crun would write it through our own /proc, where each network namespace leaves entries of
 * the same names under one parent, and every later lookup there walks through all of them.
 */
export function ociConfig({
  hostname,
  userNamespace,
  rootfs,
  init,
  empty,
  bootId,
  limits,
  resolvConf,
}: OciOptions): object {
  const capabilities = STARTING_CAPABILITIES;
  return {
    ociVersion: '1.0.0',
    hostname,
    root: { path: rootfs, readonly: false },
    process: {
      terminal: false,
      user: { uid: 0, gid: 0 },
      args: [INIT_INSIDE, '--listen-fd', '3'],
      env: [],
      cwd: '/',
      noNewPrivileges: false,
      rlimits: [{ type: 'RLIMIT_CORE', ...NO_CORE }],
      oomScoreAdj: OOM_SCORE_ADJUSTMENT,
      capabilities: { bounding: capabilities, permitted: capabilities, effective: capabilities },
    },
    mounts: [
      { destination: '/proc', type: 'proc', source: 'proc', options: ['nosuid', 'noexec', 'nodev'] },
      {
        destination: '/dev',
        type: 'tmpfs',
        source: 'tmpfs',
        options: ['nosuid', 'noexec', 'strictatime', 'mode=755', 'size=1024k', 'nr_inodes=1024'],
      },
      {
        destination: '/dev/pts',
        type: 'devpts',
        source: 'devpts',
        options: ['nosuid', 'noexec', ...DEVPTS_OPTIONS.split(','), `max=${limits.ptys}`],
      },
      {
        destination: '/dev/shm',
        type: 'tmpfs',
        source: 'shm',
        options: ['nosuid', 'noexec', 'nodev', ...shmOptions(limits).split(',')],
      },
      { destination: '/dev/mqueue', type: 'mqueue', source: 'mqueue', options: ['nosuid', 'noexec', 'nodev'] },
      { destination: INIT_INSIDE, type: 'bind', source: init, options: ['bind', 'ro', 'nosuid', 'nodev'] },
      bindReadOnly('/proc/sys/kernel/random/boot_id', bootId),
      ...(resolvConf === undefined ? [] : [bindReadOnly('/etc/resolv.conf', resolvConf)]),
      ...maskedDirectories().map((destination) => bindReadOnly(destination, empty)),
    ],
    linux: {
      namespaces: [
        { type: 'user', path: userNamespace },
        ...['pid', 'mount', 'ipc', 'uts', ...(resolvConf === undefined ? ['network'] : [])].map((type) => ({ type })),
      ],
      maskedPaths: maskedFiles(),
      readonlyPaths: READONLY,
    },
  };
}

export const DEVPTS_OPTIONS = 'newinstance,ptmxmode=0666,mode=0620,gid=5';

export function shmOptions({ memoryMiB }: Limits): string {
  return `mode=1777,size=${Math.ceil(memoryMiB / 2)}m`;
}

export function maskedFiles(): string[] {
  return MASKED.filter((path) => !maskedDirectories().includes(path));
}

function bindReadOnly(destination: string, source: string): object {
  return { destination, type: 'bind', source, options: ['bind', 'ro', 'nosuid', 'nodev', 'noexec'] };
}

let directories: string[] | undefined;

/**
 * Which of the masked paths are directories on this kernel: a cell's own /proc has the same. crun masks a directory with
 * a new tmpfs. A file system more in each cell costs all: every memory group has a place for the caches of each file
 * system of the machine (mm/shrinker.c). So directories are masked by one that is empty, read-only and owned by nobody
 * inside.
 */
export function maskedDirectories(): string[] {
  directories ??= MASKED.filter((path) => statSync(path, { throwIfNoEntry: false })?.isDirectory());
  return directories;
}

/**
 * A crash inside must not start the host's crash handler, which would run on the host as root (core(5), `|` patterns).
 * Exactly 1 means that to the kernel: no program is started and no file is written (do_coredump in fs/coredump.c); 0
 * stops files only. The seccomp filter keeps it at that.
 */
const NO_CORE = { soft: 1, hard: 1 };
/** When the whole machine is out of memory, the kernel ends processes of sandboxes before the node's own. */
export const OOM_SCORE_ADJUSTMENT = 200;
