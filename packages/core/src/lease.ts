/**
 * A lease as a value: who holds it and until when its owner may be away. No I/O, no timers: the edge asks `leaseDeadline`
 * when to look again.
 */
export type LeaseClaim = {
  graceMs: number;
  /** Connections that hold it now. */
  holders: number;
  /** End of the grace time; null while held. */
  deadlineMs: number | null;
};

/** A new lease is in grace until somebody holds or renews it. */
export function newClaim(graceMs: number, nowMs: number): LeaseClaim {
  return { graceMs, holders: 0, deadlineMs: nowMs + graceMs };
}

/** Somebody's connection holds it. */
export function holdClaim(claim: LeaseClaim): LeaseClaim {
  return { ...claim, holders: claim.holders + 1, deadlineMs: null };
}

/** One holder went away; with the last one the grace time starts. */
export function releaseClaim(claim: LeaseClaim, nowMs: number): LeaseClaim {
  const holders = Math.max(0, claim.holders - 1);
  return { ...claim, holders, deadlineMs: holders === 0 ? nowMs + claim.graceMs : null };
}

/** A sign of life without a connection: a full grace time from now. */
export function renewClaim(claim: LeaseClaim, nowMs: number): LeaseClaim {
  return claim.holders > 0 ? claim : { ...claim, deadlineMs: nowMs + claim.graceMs };
}

/** After a restart of the edge no connection holds it any more; its owner gets a fresh grace time. */
export function restartClaim(graceMs: number, nowMs: number): LeaseClaim {
  return newClaim(graceMs, nowMs);
}

/** Held by somebody, within its grace time, or past it. */
export function leaseState(claim: LeaseClaim, nowMs: number): 'held' | 'grace' | 'expired' {
  if (claim.holders > 0 || claim.deadlineMs === null) return 'held';
  return nowMs >= claim.deadlineMs ? 'expired' : 'grace';
}
