import type { Change } from '@vivarium/protocol/sandbox.ts';
import type { Sandbox } from '../sandbox.ts';
import { LOADER_CACHE } from './loader-cache.ts';
import { TamperingCollector, type TamperingReport } from './tampering.ts';

/** Beyond this many changes the list is cut off, and the report says so. */
const CHANGES_MAX = 1_000_000;

export type Survey = TamperingReport & { truncated: boolean; loaderCache: boolean };

/** Goes once through all that a sandbox changed. It should be frozen. */
export async function surveyChanges(
  sandbox: Sandbox,
  workspace: readonly string[],
  onChange: (change: Change) => void = () => {},
): Promise<Survey> {
  const tampering = new TamperingCollector(workspace);
  let count = 0;
  let loaderCache = false;
  for await (const change of sandbox.changes()) {
    if (++count > CHANGES_MAX) break;
    tampering.add(change);
    onChange(change);
    loaderCache ||= change.path === LOADER_CACHE;
  }
  return { ...tampering.report(), truncated: count > CHANGES_MAX, loaderCache };
}
