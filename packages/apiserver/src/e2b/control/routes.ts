import { aliasRoutes } from './aliases.ts';
import { buildRoutes } from './builds.ts';
import type { ControlRoute } from './control-call.ts';
import { forkRoutes } from './forks.ts';
import { lifecycleRoutes } from './lifecycle.ts';
import { logRoutes } from './logs.ts';
import { metricsRoutes } from './metrics.ts';
import { networkRoutes } from './network.ts';
import { sandboxListRoutes } from './sandbox-list.ts';
import { sandboxRoutes } from './sandboxes.ts';
import { secretRoutes } from './secrets.ts';
import { snapshotRoutes } from './snapshots.ts';
import { tagRoutes } from './tags.ts';
import { templateRoutes } from './templates.ts';
import { volumeContentRoutes } from './volume-content.ts';
import { volumeRoutes } from './volumes.ts';

/** Every route of the control plane, by noun. */
export const CONTROL_ROUTES: readonly ControlRoute[] = [
  ...sandboxRoutes,
  ...sandboxListRoutes,
  ...lifecycleRoutes,
  ...forkRoutes,
  ...metricsRoutes,
  ...logRoutes,
  ...networkRoutes,
  ...secretRoutes,
  ...snapshotRoutes,
  ...templateRoutes,
  ...buildRoutes,
  ...tagRoutes,
  ...aliasRoutes,
  ...volumeRoutes,
  ...volumeContentRoutes,
];
