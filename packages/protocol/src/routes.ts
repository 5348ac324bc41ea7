import { BUILD_ROUTES } from './routes/builds.ts';
import { EXEC_ROUTES } from './routes/execs.ts';
import { FILE_ROUTES } from './routes/files.ts';
import { FN_ROUTES } from './routes/fn.ts';
import { HEIR_ROUTES } from './routes/heirs.ts';
import { IMAGE_ROUTES } from './routes/images.ts';
import { KEY_ROUTES } from './routes/keys.ts';
import { LEASE_ROUTES } from './routes/leases.ts';
import { NODE_ROUTES } from './routes/node.ts';
import type { Route } from './routes/route.ts';
import { SANDBOX_ROUTES } from './routes/sandboxes.ts';
import { VOLUME_ROUTES } from './routes/volumes.ts';

/** The whole HTTP API by operation id. `GET /v1/connect` (mux.ts) and the ports gateway are not in it: they aren't request and answer. */
export const ROUTES = {
  ...SANDBOX_ROUTES,
  ...HEIR_ROUTES,
  ...EXEC_ROUTES,
  ...FILE_ROUTES,
  ...IMAGE_ROUTES,
  ...VOLUME_ROUTES,
  ...BUILD_ROUTES,
  ...FN_ROUTES,
  ...LEASE_ROUTES,
  ...KEY_ROUTES,
  ...NODE_ROUTES,
} as const satisfies Record<string, Route>;

export type RouteId = keyof typeof ROUTES;
export type RouteOf<K extends RouteId> = (typeof ROUTES)[K];
export { LIST_ITEMS_MAX } from './routes/files.ts';
export type { Media, ParamsOf, Route } from './routes/route.ts';
export { WAIT_MS_MAX } from './routes/sandboxes.ts';
