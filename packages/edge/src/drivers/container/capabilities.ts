import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { arch, release } from 'node:os';
import { type Capability, VivError } from '@vivarium/protocol';
import { locateHierarchy } from '../../limits/hierarchy.ts';
import { findProgram } from './node.ts';

const KERNEL_MIN = '6.1';
const CRUN_MIN = '1.8';

/**
 * What this machine has of all that containers need, and the remedy for what it lacks. Only looks; nothing is made, so
 * it can run before anything is set up. AppArmor is named, not needed.
 */
export function probeContainerCapabilities(crunPath = 'crun'): Capability[] {
  return [
    capability('root', process.getuid?.() === 0, `user id ${process.getuid?.()}`, 'Run as root.'),
    capability('x86-64', arch() === 'x64', `this is ${arch()}`, 'Use an x86-64 machine.'),
    capability('kernel', atLeast(release(), KERNEL_MIN), `Linux ${release()}`, `Use Linux ${KERNEL_MIN} or later.`),
    crunCapability(crunPath),
    userNamespaces(),
    fileSystem('overlay'),
    fileSystem('erofs'),
    fileSystem('btrfs'),
    erofsMounts(),
    program('mkfs.btrfs', 'btrfs-progs'),
    diskQuota(),
    controlGroups(),
    seccomp(),
    appArmor(),
  ];
}

/** Is a dotted version at least another? Only the numbers count: `6.1.0-13-amd64` is 6.1.0. */
export function atLeast(version: string, minimum: string): boolean {
  const numbers = (text: string) => (/^\d+(\.\d+)*/.exec(text)?.[0] ?? '0').split('.').map(Number);
  const have = numbers(version);
  for (const [index, need] of numbers(minimum).entries()) {
    const part = have[index] ?? 0;
    if (part !== need) return part > need;
  }
  return true;
}

function capability(name: string, ok: boolean, reason: string, remedy: string): Capability {
  return { name, kind: 'container', ok, reason, remedy: ok ? null : remedy };
}

function crunCapability(path: string): Capability {
  const remedy = `Install crun ${CRUN_MIN} or later (apt-get install crun).`;
  try {
    const output = execFileSync(findProgram(path), ['--version'], { encoding: 'utf8', timeout: 10_000 });
    const version = /crun version (\S+)/.exec(output)?.[1] ?? 'unknown';
    return capability('crun', atLeast(version, CRUN_MIN), `crun ${version}`, remedy);
  } catch (error) {
    return capability('crun', false, VivError.from(error).message.split('\n')[0]!, remedy);
  }
}

function userNamespaces(): Capability {
  const max = Number(read('/proc/sys/user/max_user_namespaces') ?? 0);
  const remedy = 'Set sysctl user.max_user_namespaces to at least the number of sandboxes.';
  return capability('user namespaces', max > 0, `at most ${max}`, remedy);
}

/** Loaded, built in, or a module that a mount loads by itself. */
function fileSystem(name: string): Capability {
  const loaded = new RegExp(`\\t${name}$`, 'm').test(read('/proc/filesystems') ?? '');
  const modules = ['modules.builtin', 'modules.dep'].map((file) => read(`/lib/modules/${release()}/${file}`) ?? '');
  const there = loaded || modules.some((text) => new RegExp(`/${name}\\.ko`).test(text));
  const reason = there ? 'the kernel has it' : 'the kernel does not have it';
  return capability(
    `file system ${name}`,
    there,
    reason,
    `Use a kernel with ${name} (CONFIG_${name.toUpperCase()}_FS).`,
  );
}

function erofsMounts(): Capability {
  if (atLeast(release(), '6.12')) return capability('layer mounts', true, 'straight from the file', '');
  const loop = existsSync('/dev/loop-control');
  const reason = loop ? 'by a loop device (Linux before 6.12)' : 'no loop devices (/dev/loop-control)';
  return capability('layer mounts', loop, reason, 'Load the module `loop`, or use Linux 6.12 or later.');
}

function program(name: string, pkg: string): Capability {
  try {
    return capability(name, true, findProgram(name), '');
  } catch {
    return capability(name, false, 'not installed', `apt-get install ${pkg}`);
  }
}

function diskQuota(): Capability {
  const how = atLeast(release(), '6.7')
    ? 'btrfs simple quotas'
    : 'btrfs qgroups (slower than the simple quotas of 6.7)';
  return capability('disk quota', true, how, '');
}

function controlGroups(): Capability {
  const remedy = 'Mount cgroup v2 on /sys/fs/cgroup with the controllers cpu, memory and pids.';
  try {
    const hierarchy = locateHierarchy(read('/proc/self/mountinfo') ?? '', read('/proc/self/cgroup') ?? '', 'vivarium');
    if (hierarchy.version === 1) {
      const there = Object.keys(hierarchy.bases);
      return capability('control groups', there.includes('cpu'), `v1: ${there.join(' ')}`, remedy);
    }
    const root = hierarchy.base.slice(0, hierarchy.base.lastIndexOf('/'));
    const there = (read(`${root}/cgroup.controllers`) ?? '').trim().split(' ');
    const missing = ['cpu', 'memory', 'pids'].filter((name) => !there.includes(name));
    const reason = missing.length === 0 ? 'v2' : `v2 without ${missing.join(', ')}`;
    return capability('control groups', missing.length === 0, reason, remedy);
  } catch (error) {
    return capability('control groups', false, VivError.from(error).message, remedy);
  }
}

function seccomp(): Capability {
  const actions = read('/proc/sys/kernel/seccomp/actions_avail')?.trim();
  const reason = actions ? 'filters work' : 'the kernel has no seccomp filters';
  return capability('seccomp', actions !== undefined, reason, 'Use a kernel with CONFIG_SECCOMP_FILTER.');
}

function appArmor(): Capability {
  const active = (read('/sys/kernel/security/lsm') ?? '').split(',').includes('apparmor');
  const instead = 'user namespace, capabilities and seccomp confine';
  const reason = active ? `active, without a profile of ours; ${instead}` : `not active here; ${instead}`;
  return capability('apparmor', true, reason, '');
}

function read(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
}
