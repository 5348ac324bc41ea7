import type { SandboxCreateInput, Sandbox as SandboxInfo } from '@vivarium/protocol/sandbox.ts';
import type { Context } from './context.ts';
import type { ImportProgress } from './images.ts';
import { idempotencyKey } from './retry.ts';

export type CreateOptions = Omit<SandboxCreateInput, 'lease'> & {
  /** The lease that owns it: an id or what `viv.lease()` returned. */
  lease?: string | { readonly id: string };
};
export type RequestControl = {
  /** Names this attempt: the same key returns the first result. Default: a random one per call. */
  idempotencyKey?: string;
  signal?: AbortSignal;
  /** Told how the base image is made, should this be its first use on the node. */
  onProgress?: (progress: ImportProgress) => void;
};
/** A create may wait for room and for layers. */
const CREATE_TIMEOUT_MS = 600_000;

/** Creates a sandbox, once, also when the answer got lost and the call was repeated. */
export function createSandbox(
  context: Context,
  options: CreateOptions,
  control: RequestControl = {},
): Promise<SandboxInfo> {
  const json = { ...options, ...(options.lease !== undefined && { lease: idOf(options.lease) }) };
  return context.http.json('POST', '/v1/sandboxes', {
    json,
    idempotencyKey: control.idempotencyKey ?? idempotencyKey(),
    signal: control.signal,
    timeoutMs: CREATE_TIMEOUT_MS,
  });
}

/** A lease may be given as such or by its id. */
export function idOf(lease: string | { readonly id: string }): string {
  return typeof lease === 'string' ? lease : lease.id;
}
