import { VivError } from '@vivarium/protocol';
import type { SandboxRow } from '../registry/sandbox-row.ts';
import { type Box, deadError } from './box.ts';
import type { EdgeContext } from './context.ts';

/** A sandbox that is or was. Throws `sandbox_not_found`. */
export function requireRow(context: EdgeContext, id: string): SandboxRow {
  const row = context.boxes.get(id)?.row ?? context.registry.sandboxes.get(id);
  if (row) return row;
  throw new VivError('sandbox_not_found', `there is no sandbox ${id}`, { details: { id } });
}

/** A live sandbox. Throws `sandbox_not_found` or `sandbox_dead`. */
export function requireBox(context: EdgeContext, id: string): Box {
  const box = context.boxes.get(id);
  if (box) return box;
  throw deadError(requireRow(context, id));
}
