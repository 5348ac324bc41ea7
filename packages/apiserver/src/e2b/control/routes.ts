import type { ControlRoute } from './control-call.ts';
import { sandboxRoutes } from './sandboxes.ts';

/** Every route of the control plane, by noun. */
export const CONTROL_ROUTES: readonly ControlRoute[] = [...sandboxRoutes];
