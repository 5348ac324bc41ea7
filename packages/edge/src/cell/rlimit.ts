/** One resource limit of setrlimit(2); 2^64-1 is RLIM_INFINITY. */
export type Rlimit = { resource: number; soft: bigint; hard: bigint };

/** Resource numbers of x86-64 and arm64 Linux (asm-generic/resource.h). */
export const RLIMIT_RESOURCE = {
  cpu: 0,
  fsize: 1,
  data: 2,
  stack: 3,
  core: 4,
  nproc: 6,
  nofile: 7,
  memlock: 8,
  as: 9,
} as const;

/** Soft and hard limit alike, by name, as the API takes them. */
export function rlimitsOf(limits: Partial<Record<keyof typeof RLIMIT_RESOURCE, number>>): Rlimit[] {
  return Object.entries(limits).map(([name, value]) => ({
    resource: RLIMIT_RESOURCE[name as keyof typeof RLIMIT_RESOURCE],
    soft: BigInt(value),
    hard: BigInt(value),
  }));
}
