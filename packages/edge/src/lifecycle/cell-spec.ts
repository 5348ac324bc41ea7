import type { CellSpec, LayerMount } from '../drivers/driver.ts';
import type { SandboxRow } from '../registry/sandbox-row.ts';
import { cellVolumes } from '../volumes/mounts.ts';
import type { EdgeContext } from './context.ts';

/** What the driver is told to boot: the same for the first cell of a sandbox and for each after a pause without memory. */
export function cellSpec(context: EdgeContext, row: SandboxRow, layers: LayerMount[]): CellSpec {
  const { id, name, limits, env, builder } = row;
  const volumes = cellVolumes(context, row);
  return { id, hostname: name ?? id, layers, limits, env, network: builder?.network ?? 'none', volumes };
}
