import type { Capability } from '@vivarium/protocol';

/** What a container for calls can't do, and why. */
const WITHOUT: readonly { name: string; reason: string }[] = [
  { name: 'pause', reason: 'a call has a time-out and nothing lives longer' },
  { name: 'fork', reason: 'nothing of a call is left to fork from' },
  { name: 'snapshot', reason: 'nothing of a call is left; bring files back with filesOut' },
  { name: 'pack', reason: 'nothing of a call is left; bring files back with filesOut' },
  { name: 'volumes', reason: 'a container is shared by calls that must not see each other' },
  { name: 'reach', reason: 'calls have a loopback device and nothing more' },
];

/** What containers need on this machine, and what the kind leaves out on purpose. */
export function fnCapabilities(containers: readonly Capability[]): Capability[] {
  const without = WITHOUT.map(({ name, reason }) => ({
    name,
    kind: 'fn' as const,
    ok: false,
    reason,
    remedy: 'Use kind container.',
  }));
  return [...containers.map((capability) => ({ ...capability, kind: 'fn' as const })), ...without];
}
