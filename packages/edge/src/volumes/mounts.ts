import { type MountedVolume, type SandboxCreate, VivError } from '@vivarium/protocol';
import type { CellVolume } from '../drivers/driver.ts';
import type { EdgeContext } from '../lifecycle/context.ts';
import type { SandboxRow } from '../registry/sandbox-row.ts';
import { findVolume, requireDisk, requireVolume } from './find.ts';

const MIB = 1_048_576;
/** Close to its limit a volume takes no more blocks: metadata has a share. */
const FULL_PART = 0.985;

/**
 * The volumes of a new sandbox, by their ids: from its row on they are in use. A name means that key's own volume. Throws
 * `volume_not_found`, and `unsupported` for kinds that can't mount them.
 */
export function volumesOf(context: EdgeContext, request: SandboxCreate, keyId: string): MountedVolume[] {
  const { volumes, kind } = request;
  if (volumes.length === 0) return [];
  if (kind !== 'container')
    throw new VivError(
      'unsupported',
      `a ${kind} sandbox can't mount volumes: its files are not on the node's kernel, which is where a volume is; use a container`,
      { details: { kind } },
    );
  return volumes.map(({ name, path, readOnly }) => {
    const row = findVolume(context, name, keyId);
    return { id: row.id, name: row.name, path: path.replace(/\/$/, ''), readOnly };
  });
}

/** What the driver mounts when a cell of this sandbox starts, at its creation and whenever it starts anew over its files. */
export function cellVolumes(context: EdgeContext, { volumes = [] }: SandboxRow): CellVolume[] {
  return volumes.map(({ id, path, readOnly }) => {
    requireVolume(context, id);
    return { directory: requireDisk(context).directory(id), at: path, readOnly };
  });
}

/** Has one of the volumes that it may write to reached its size? */
export function isVolumeFull(context: EdgeContext, { volumes = [] }: SandboxRow): boolean {
  return volumes.some(({ id, readOnly }) => {
    const row = readOnly ? undefined : context.registry.volumes.get(id);
    return row !== undefined && context.volumeDisk.usedBytes(id) >= row.sizeMiB * MIB * FULL_PART;
  });
}
