import { createHash } from 'node:crypto';
import { canonicalJson } from '@vivarium/core';
import type { Idempotency, Owner } from '@vivarium/edge/edge.ts';
import { type Key, VivError } from '@vivarium/protocol';

export const IDEMPOTENCY_KEY_MAX = 200;

/** Whose sandbox it will be, and how many that key may have. */
export function ownerOf(key: Key): Owner {
  return { keyId: key.id, maxSandboxes: key.maxSandboxes };
}

/**
 * An idempotency key belongs to the API key that used it. The hash covers operation, sandbox and the checked request, so a
 * retry over HTTP and one over the connection are the same.
 */
export function idempotencyOf(
  given: string | undefined,
  key: Key,
  operation: string,
  target: string,
  request: unknown,
): Idempotency | undefined {
  if (given === undefined) return undefined;
  if (given.length < 1 || given.length > IDEMPOTENCY_KEY_MAX) {
    throw new VivError(
      'invalid_argument',
      `Idempotency-Key has ${given.length} characters; 1 to ${IDEMPOTENCY_KEY_MAX} are allowed`,
    );
  }
  const requestHash = createHash('sha256')
    .update(canonicalJson([operation, target, request]))
    .digest('hex');
  return { key: `${key.id}:${given}`, requestHash };
}
