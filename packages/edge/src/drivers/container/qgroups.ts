import { readdirSync } from 'node:fs';
import { release } from 'node:os';
import { subvolumeId } from '../../native/btrfs.ts';
import { pruneAccounts } from '../../native/btrfs-file.ts';
import { paths } from './place.ts';

/** Destroys between two looks for accounts of deleted subvolumes. */
const PRUNE_EVERY = 256;
let sincePrune = 0;
const keepsAccounts = keepsDeletedAccounts(release());

/** Called after each destroy: kernels before 6.11 keep the accounts of deleted subvolumes until they are told. */
export function countDestroy(runDir: string): void {
  if (!keepsAccounts || ++sincePrune < PRUNE_EVERY) return;
  sincePrune = 0;
  pruneQgroups(runDir);
}

/** Of a kernel release such as `6.1.0-18-amd64`. */
export function keepsDeletedAccounts(kernel: string): boolean {
  const [major = 0, minor = 0] = kernel.split('.').map((part) => Number.parseInt(part, 10));
  return major < 6 || (major === 6 && minor < 11);
}

/** Removes the accounts of subvolumes that are gone. */
export function pruneQgroups(runDir: string): void {
  const live = new Set([paths.cells(runDir), paths.snapshots(runDir)].flatMap(subvolumeIds));
  pruneAccounts(paths.scratch(runDir), live);
}

function subvolumeIds(dir: string): number[] {
  return readdirSync(dir).map((name) => subvolumeId(`${dir}/${name}`));
}
