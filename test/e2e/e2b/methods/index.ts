import type { Checks } from './bed.ts';
import { FILE_CHECKS } from './files.ts';
import { GIT_CHECKS } from './git.ts';
import { INTERPRETER_CHECKS } from './interpreter.ts';
import { PROCESS_CHECKS } from './processes.ts';
import { SANDBOX_CHECKS } from './sandbox.ts';
import { SECRET_CHECKS } from './secrets.ts';
import { TEMPLATE_CHECKS } from './templates.ts';
import { VOLUME_CHECKS } from './volumes.ts';

/** Every public method of both clients with its check. */
export const METHOD_CHECKS: Checks = {
  ...SANDBOX_CHECKS,
  ...PROCESS_CHECKS,
  ...FILE_CHECKS,
  ...GIT_CHECKS,
  ...TEMPLATE_CHECKS,
  ...VOLUME_CHECKS,
  ...SECRET_CHECKS,
  ...INTERPRETER_CHECKS,
};
