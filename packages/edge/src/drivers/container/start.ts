import { closeSync, fstatSync, readSync } from 'node:fs';
import { VivError } from '@vivarium/protocol';
import type { CellGroup } from '../../limits/cell-group.ts';
import { openMemoryFile } from '../../native/memory-file.ts';
import { capabilityMask } from './capability-set.ts';
import { runProgram } from './crun.ts';
import {
  DEVPTS_OPTIONS,
  maskedDirectories,
  maskedFiles,
  OOM_SCORE_ADJUSTMENT,
  READONLY,
  shmOptions,
} from './oci-config.ts';
import { type CreateCell, paths } from './place.ts';
import { rememberInit } from './reap.ts';

/** Descriptors that a cell of ours starts from. */
export type Opened = { listener: number; userNamespace: number };

/**
 * Runs in the spawner: starts PID 1 over a mounted root with viv-start, a program of ours that does what crun does with our
 * configuration, at a third of its cost. For cells without volumes and without the node's network. Returns the pid.
 */
export async function startInit(params: CreateCell, opened: Opened, group: CellGroup): Promise<number> {
  const { place, id, hostname, limits } = params;
  const { runDir } = place;
  const argv = [
    'viv-start',
    paths.root(runDir, id),
    hostname,
    paths.init(runDir),
    paths.bootId(runDir, id),
    paths.empty(runDir),
    shmOptions(limits),
    `${DEVPTS_OPTIONS},max=${limits.ptys}`,
    `${OOM_SCORE_ADJUSTMENT}`,
    capabilityMask().toString(16),
    maskedDirectories().join(),
    maskedFiles().join(),
    READONLY.join(),
  ];
  const answer = openMemoryFile('start');
  try {
    const { listener, userNamespace } = opened;
    const exit = await runProgram(paths.starter(runDir), argv, [listener, userNamespace, answer], group);
    const said = readAnswer(answer);
    const pid = Number(/^\d+$/m.exec(said)?.[0] ?? Number.NaN);
    if (!Number.isNaN(pid)) rememberInit(id, pid);
    if (exit.exitCode === 0 && !Number.isNaN(pid)) return pid;
    const how = exit.signal === null ? `exit code ${exit.exitCode}` : `signal ${exit.signal}`;
    throw new VivError('internal', `the container could not be started (${how}): ${said.trim() || 'no message'}`);
  } finally {
    closeSync(answer);
  }
}

function readAnswer(fd: number): string {
  const buffer = Buffer.alloc(Math.min(fstatSync(fd).size, 4096));
  return buffer.toString('utf8', 0, readSync(fd, buffer, 0, buffer.length, 0));
}
