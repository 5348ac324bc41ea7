/** Bit numbers of linux/capability.h. */
const BITS = {
  CAP_CHOWN: 0,
  CAP_DAC_OVERRIDE: 1,
  CAP_FOWNER: 3,
  CAP_FSETID: 4,
  CAP_KILL: 5,
  CAP_SETGID: 6,
  CAP_SETUID: 7,
  CAP_SETPCAP: 8,
  CAP_NET_BIND_SERVICE: 10,
  CAP_SYS_CHROOT: 18,
  CAP_AUDIT_WRITE: 29,
  CAP_SETFCAP: 31,
} as const;

/**
 * What root inside may do, always within its user namespace: what package managers, sudo and test suites need. It is
 * Docker's default set without MKNOD (no use in a user namespace) and NET_RAW (no network to use it on).
 */
export const KEPT_CAPABILITIES = Object.keys(BITS);

/**
 * What PID 1 has beside them until it has finalised its confinement: to unshare, to install the seccomp filter
 * (SYS_ADMIN) and to limit its user namespace (SYS_RESOURCE).
 */
export const NAMESPACED_CAPABILITIES = ['CAP_SYS_ADMIN', 'CAP_SYS_RESOURCE', 'CAP_NET_ADMIN'];

/** Bit numbers of those beside, in their order. */
const NAMESPACED_BITS = [21, 24, 12];

/** What PID 1 begins with. */
export const STARTING_CAPABILITIES = [...KEPT_CAPABILITIES, ...NAMESPACED_CAPABILITIES];

/** The same as a mask. */
export function capabilityMask(): bigint {
  return NAMESPACED_BITS.reduce<bigint>((mask, bit) => mask | (1n << BigInt(bit)), keptCapabilityMask());
}

/** The kept set as the mask that CONFIG carries. */
export function keptCapabilityMask(): bigint {
  return Object.values(BITS).reduce<bigint>((mask, bit) => mask | (1n << BigInt(bit)), 0n);
}
