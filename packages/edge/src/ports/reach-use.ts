import { type Reach, VivError } from '@vivarium/protocol';
import type { Box } from '../lifecycle/box.ts';

/** One named endpoint of one sandbox: what it may use and what it has used. */
export type ReachUse = { box: Box; reach: Reach; bytes: number; connections: number };

/** What a call beyond the endpoint's byte limit is answered with. */
export function overLimit({ reach }: ReachUse): VivError {
  return new VivError('reach_denied', `port ${reach.port} has used up its maxBytes of ${reach.maxBytes}`, {
    details: { port: reach.port, maximum: reach.maxBytes },
  });
}
