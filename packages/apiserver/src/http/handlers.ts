import { buildHandlers } from './builds.ts';
import type { AllHandlers } from './call.ts';
import { execHandlers } from './execs.ts';
import { fileHandlers } from './files.ts';
import { fnHandlers } from './fn.ts';
import { imageHandlers } from './images.ts';
import { keyHandlers } from './keys.ts';
import { leaseHandlers } from './leases.ts';
import { nodeHandlers } from './node.ts';
import { sandboxHandlers } from './sandboxes.ts';
import { volumeHandlers } from './volumes.ts';

/** One handler per route: a missing one does not compile. */
export const HANDLERS: AllHandlers = {
  ...sandboxHandlers,
  ...execHandlers,
  ...fileHandlers,
  ...imageHandlers,
  ...buildHandlers,
  ...fnHandlers,
  ...volumeHandlers,
  ...leaseHandlers,
  ...keyHandlers,
  ...nodeHandlers,
};
