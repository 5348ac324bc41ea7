import { shiftedAcl, shiftedCapability } from './ids.ts';

/**
 * The value an extended attribute has in a layer, or null when it has no business there (overlay's bookkeeping, foreign security labels,
 * btrfs properties). `shift` is the first id of the sandbox's range.
 */
export function keptXattr(name: string, value: Buffer, shift: number): Buffer | null {
  if (name.startsWith('user.')) return value;
  if (name === 'security.capability') return shiftedCapability(value, shift);
  if (name === 'system.posix_acl_access' || name === 'system.posix_acl_default') return shiftedAcl(value, shift);
  return null;
}
