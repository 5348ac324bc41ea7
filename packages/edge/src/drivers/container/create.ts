import { randomUUID } from 'node:crypto';
import { chownSync, closeSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import { VivError } from '@vivarium/protocol';
import { CellGroup } from '../../limits/cell-group.ts';
import { createSnapshot, createSubvolume, subvolumeId } from '../../native/btrfs.ts';
import { errnoOf } from '../../native/libc.ts';
import { listenUnix } from '../../native/socket.ts';
import { openUserNamespace } from '../../native/user-namespace.ts';
import { crunError, readCrunLog, runCrun } from './crun.ts';
import { destroyCell } from './destroy.ts';
import { ID_COUNT, idBase } from './id-range.ts';
import { tidyAfterStart } from './leftovers.ts';
import { ociConfig } from './oci-config.ts';
import { mountRoot } from './overlay.ts';
import { type CreateCell, type CreatedCell, paths } from './place.ts';
import { processStartTime } from './process-stat.ts';
import { clearCell, emptyScratch } from './renew.ts';
import { type Opened, startInit } from './start.ts';
import { stopCell } from './stop.ts';
import { mountVolumes } from './volumes.ts';

const MIB = 1024 * 1024;
/** Connections that may wait for viv-init: the host makes one at a time. */
const BACKLOG = 8;

/**
 * Runs in the spawner: makes a cell up to its PID 1, which listens on the control socket. Whatever fails, nothing of it
 * is left, but for a scratch that was there before.
 */
export async function createCell(params: CreateCell): Promise<CreatedCell> {
  try {
    if (params.scratchKept) await stopCell(params);
    if (params.renewed) await clearCell(params);
    return await build(params);
  } catch (error) {
    await (params.scratchKept ? stopCell(params) : destroyCell(params));
    throw asNodeFull(error);
  }
}

async function build(params: CreateCell): Promise<CreatedCell> {
  const { place, id, slot, layers, limits } = params;
  const { runDir } = place;
  const subvolume = makeScratch(params);
  const group = new CellGroup(place.hierarchy, id);
  group.create();
  const rootfs = paths.root(runDir, id);
  mkdirSync(rootfs);
  const userNamespace = openUserNamespace(idBase(slot), ID_COUNT);
  let listener: number | undefined;
  let pid: number;
  try {
    mountRoot({ runDir, layers, userNamespace, scratch: paths.cell(runDir, id), target: rootfs });
    writeFileSync(paths.bootId(runDir, id), `${randomUUID()}\n`, { mode: 0o444 });
    listener = listenUnix(paths.socket(runDir, id), BACKLOG);
    const opened = { listener, userNamespace };
    const run = params.quick ? startInit : startWithCrun;
    pid = await run(params, opened, group);
  } finally {
    if (listener !== undefined) closeSync(listener);
    closeSync(userNamespace);
  }
  const startTime = processStartTime(pid);
  if (!startTime) throw new VivError('internal', `viv-init of ${id} ended at once`);
  await group.complete(pid);
  group.limit(limits);
  mountVolumes(pid, idBase(slot), params.volumes);
  tidyAfterStart(runDir, id);
  return { pid, startTime, subvolume };
}

async function startWithCrun(params: CreateCell, opened: Opened, group: CellGroup): Promise<number> {
  const { place, id, hostname, limits, network } = params;
  const { runDir } = place;
  const config = ociConfig({
    hostname,
    userNamespace: `/proc/${process.pid}/fd/${opened.userNamespace}`,
    rootfs: paths.root(runDir, id),
    init: paths.init(runDir),
    empty: paths.empty(runDir),
    bootId: paths.bootId(runDir, id),
    limits,
    resolvConf: network === 'node' ? writeResolvConf(runDir) : undefined,
  });
  writeFileSync(paths.config(runDir, id), JSON.stringify(config));
  const exit = await runCrun(place.crun, crunArguments(runDir, id), opened.listener, group);
  if (exit.exitCode !== 0) throw crunError(exit, readCrunLog(paths.log(runDir, id)));
  return Number(readFileSync(paths.pidFile(runDir, id), 'latin1'));
}

/** How the node finds names, as it is now. */
function writeResolvConf(runDir: string): string {
  const path = paths.resolvConf(runDir);
  const content = existsSync('/etc/resolv.conf') ? readFileSync('/etc/resolv.conf') : '';
  writeFileSync(`${path}.new`, content, { mode: 0o644 });
  renameSync(`${path}.new`, path);
  return path;
}

function makeScratch(params: CreateCell): number {
  const { place, id, slot } = params;
  const cell = paths.cell(place.runDir, id);
  const subvolume = scratchVolume(params, cell);
  // What an overlay left in its work directory must not be there when the next one starts.
  rmSync(`${cell}/work`, { recursive: true, force: true });
  for (const dir of [`${cell}/upper`, `${cell}/work`]) {
    if (existsSync(dir)) continue;
    mkdirSync(dir, { mode: 0o755 });
    chownSync(dir, idBase(slot), idBase(slot));
  }
  return subvolume;
}

/** Kept, emptied, copied or new. Returns its id. */
function scratchVolume({ limits, scratchFrom, scratchKept, renewed }: CreateCell, cell: string): number {
  if (scratchKept || (renewed && emptyScratch(cell))) return subvolumeId(cell);
  const [parent, name, limitBytes] = [dirname(cell), basename(cell), limits.diskMiB * MIB];
  if (scratchFrom !== undefined) return createSnapshot(scratchFrom, parent, name, { limitBytes });
  return createSubvolume(parent, name, limitBytes);
}

function crunArguments(runDir: string, id: string): string[] {
  const log = ['--log', paths.log(runDir, id), '--log-format', 'text'];
  const node = ['crun', '--cgroup-manager=disabled', '--root', paths.crunState(runDir), ...log];
  const config = ['--config', paths.config(runDir, id), '--bundle', paths.bundles(runDir)];
  const files = ['--pid-file', paths.pidFile(runDir, id), '--preserve-fds', '1'];
  // viv-init gives itself a nameless session keyring: for a named one the kernel walks through those of all cells.
  return [...node, 'run', '-d', '--no-new-keyring', ...config, ...files, id];
}

function asNodeFull(error: unknown): unknown {
  const errno = errnoOf(error);
  if (errno !== 'ENOSPC') return error;
  return new VivError('node_disk_full', 'the scratch file system or the run directory is full', { cause: error });
}
