import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { VivError } from '@vivarium/protocol';
import { parseMountInfo } from './mountinfo.ts';

/** What we use of cgroup v1; cpuset, devices, blkio and net_cls are left alone. */
const CONTROLLERS_V1 = ['cpu', 'cpuacct', 'memory', 'pids', 'freezer'] as const;
const CONTROLLERS_V2 = ['cpu', 'memory', 'pids'] as const;
export type Controller = (typeof CONTROLLERS_V1)[number];

/**
 * Where our control groups live: for v1 one base directory per controller, below the caller's own groups, so that
 * limits put on us hold for the sandboxes too; for v2 one base directory. JSON, part of a cell's record.
 */
export type Hierarchy =
  | { version: 1; bases: Partial<Record<Controller, string>> }
  | { version: 2; base: string; controllers: string[] };

/** Finds out from mountinfo and /proc/self/cgroup; `name` is the directory of this node. Pure. */
export function locateHierarchy(mountinfo: string, selfCgroup: string, name: string): Hierarchy {
  const mounts = parseMountInfo(mountinfo);
  const own = new Map<string, string>();
  for (const line of selfCgroup.split('\n')) {
    const [, controllers, path] = /^\d+:([^:]*):(.*)$/.exec(line) ?? [];
    for (const controller of controllers?.split(',') ?? []) own.set(controller, path ?? '/');
  }
  const bases: Partial<Record<Controller, string>> = {};
  for (const controller of CONTROLLERS_V1) {
    const mount = mounts.find(({ type, superOptions }) => type === 'cgroup' && superOptions.includes(controller));
    const path = own.get(controller);
    if (mount && path !== undefined) bases[controller] = join(mount.target, below(mount.root, path), name);
  }
  if (bases.memory && bases.pids && bases.freezer) return { version: 1, bases };
  const unified = mounts.find(({ type }) => type === 'cgroup2');
  if (!unified) throw new VivError('unsupported', 'no cgroup file system is mounted that we can use');
  return { version: 2, base: join(unified.target, name), controllers: [] };
}

/** Makes the base directories and, for v2, switches the controllers on for them. */
export function prepareHierarchy(hierarchy: Hierarchy): Hierarchy {
  if (hierarchy.version === 1) {
    for (const base of new Set(Object.values(hierarchy.bases))) mkdirSync(base, { recursive: true });
    return hierarchy;
  }
  const root = join(hierarchy.base, '..');
  mkdirSync(hierarchy.base, { recursive: true });
  const controllers = CONTROLLERS_V2.filter(
    (controller) => enable(root, controller) && enable(hierarchy.base, controller),
  );
  return { ...hierarchy, controllers };
}

/** All base directories, each once. */
export function basesOf(hierarchy: Hierarchy): string[] {
  return hierarchy.version === 1 ? [...new Set(Object.values(hierarchy.bases))] : [hierarchy.base];
}

/** Our own path as it lies below the mount: a mount may show a part of the hierarchy only. */
function below(root: string, path: string): string {
  if (path.startsWith('/..')) return '/';
  if (root === '/' || root === '') return path;
  return path === root || path.startsWith(`${root}/`) ? path.slice(root.length) : '/';
}

function enable(dir: string, controller: string): boolean {
  const available = readFileSync(join(dir, 'cgroup.controllers'), 'utf8').trim().split(' ');
  if (!available.includes(controller)) return false;
  try {
    writeFileSync(join(dir, 'cgroup.subtree_control'), `+${controller}`);
    return true;
  } catch {
    return false;
  }
}
