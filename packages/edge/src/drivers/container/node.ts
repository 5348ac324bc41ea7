import { createHash } from 'node:crypto';
import { chmodSync, copyFileSync, existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { basename, delimiter, dirname, join } from 'node:path';
import { VivError } from '@vivarium/protocol';
import { basesOf, type Hierarchy, locateHierarchy, prepareHierarchy } from '../../limits/hierarchy.ts';
import type { Spawner } from '../../spawner/client.ts';
import { raiseHostLimits } from './host-limits.ts';
import { type Place, paths } from './place.ts';
import type { Scratch } from './scratch.ts';

/** `…/s/<id>.sock` must fit into the 108 bytes of a socket address. */
const RUN_DIR_BYTES_MAX = 60;
/** Bases of earlier server starts that are remembered. */
const BASES_MAX = 1_000;

export type NodeOptions = {
  stateDir: string;
  runDir: string;
  vivInitPath: string;
  crunPath?: string;
  spawner: Spawner;
  scratchMiBMax?: number;
};

/** Makes the directories, control groups and scratch file system of a node, or finds them again. */
export async function prepareNode(options: NodeOptions): Promise<{ place: Place; scratch: Scratch }> {
  const { stateDir, runDir, spawner } = options;
  if (Buffer.byteLength(runDir) > RUN_DIR_BYTES_MAX)
    throw new VivError(
      'invalid_argument',
      `the run directory's path is longer than ${RUN_DIR_BYTES_MAX} bytes: ${runDir}`,
    );
  raiseHostLimits();
  await spawner.callAgain('openDirectories', { runDir });
  installProgram(options.vivInitPath, paths.init(runDir));
  installProgram(join(dirname(options.vivInitPath), 'viv-start'), paths.starter(runDir));
  const hierarchy = openHierarchy(runDir);
  const crun = await spawner.callAgain<string>('bindCrun', { runDir, crun: findProgram(options.crunPath ?? 'crun') });
  const place: Place = {
    runDir,
    crun,
    hierarchy,
    bases: rememberBases(runDir, hierarchy),
  };
  const scratch = await spawner.callAgain<Scratch>('openScratch', {
    stateDir,
    runDir,
    ...(options.scratchMiBMax === undefined ? {} : { sizeMiBMax: options.scratchMiBMax }),
  });
  return { place, scratch };
}

/** Where the control groups of this node are to be, from what this process sees of itself. */
function openHierarchy(runDir: string): Hierarchy {
  const name = `vivarium-${createHash('sha256').update(runDir).digest('hex').slice(0, 8)}`;
  const mountinfo = readFileSync('/proc/self/mountinfo', 'utf8');
  return prepareHierarchy(locateHierarchy(mountinfo, readFileSync('/proc/self/cgroup', 'utf8'), name));
}

/** Running sandboxes keep the copy they started with. */
function installProgram(source: string, target: string): void {
  if (!existsSync(source))
    throw new VivError('precondition_failed', `${basename(source)} is not built: ${source} is missing`, {
      hint: 'Run `make -C guest`.',
    });
  if (existsSync(target) && readFileSync(target).equals(readFileSync(source))) return;
  copyFileSync(source, `${target}.new`);
  chmodSync(`${target}.new`, 0o755);
  renameSync(`${target}.new`, target);
}

/** Our groups lie below our own, which may be others after each restart: a sweep looks at all that ever were. */
function rememberBases(runDir: string, hierarchy: Hierarchy): Hierarchy[] {
  const file = `${runDir}/cgroups.json`;
  const key = (entry: Hierarchy) => basesOf(entry).join();
  const known = existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as Hierarchy[]) : [];
  const alive = known.filter(
    (entry) => key(entry) !== key(hierarchy) && basesOf(entry).some((base) => existsSync(base)),
  );
  const bases = [...alive, hierarchy].slice(-BASES_MAX);
  writeFileSync(`${file}.new`, JSON.stringify(bases));
  renameSync(`${file}.new`, file);
  return bases;
}

/** The absolute path of a program. */
export function findProgram(name: string): string {
  if (name.includes('/')) return name;
  const dirs = [...(process.env.PATH ?? '').split(delimiter), '/usr/bin', '/usr/sbin', '/usr/local/bin'];
  const found = dirs.map((dir) => join(dir, name)).find((path) => existsSync(path));
  if (!found)
    throw new VivError('precondition_failed', `${name} is not installed`, { hint: `apt-get install ${name}` });
  return found;
}
