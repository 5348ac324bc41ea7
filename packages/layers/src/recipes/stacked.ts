import { fileURLToPath } from 'node:url';
import { BUILTIN_TEMPLATES } from '@vivarium/protocol/builtin-templates.ts';
import type { BuiltinName } from '../importers/builtin.ts';

/** A recipe that ships with viv and adds a layer or more to an image that does too. */
export type StackedRecipe = {
  /** What its Dockerfile is FROM: made first where it is missing. */
  parent: { image: string; builtin: BuiltinName };
  /** Directories and files on this machine by their names in the build context; `.` is the one with the Dockerfile. */
  context: Readonly<Record<string, string>>;
};
export type StackedName = 'e2b-code-interpreter';

const at = (path: string) => fileURLToPath(new URL(path, import.meta.url));

/**
 * Dockerfiles are built with the node's own network. The context has a file `sources.list` with the places the node's packages come from:
 * `RUN --mount=type=bind,source=sources.list,target=/etc/apt/sources.list apt-get …`
 */
const STACKED: Record<StackedName, StackedRecipe> = {
  'e2b-code-interpreter': {
    parent: BUILTIN_TEMPLATES.base,
    // The Node that runs the server: Debian's can not take the types out of TypeScript.
    context: { '.': at('e2b-code-interpreter'), interpreter: at('../../../../interpreter'), node: process.execPath },
  },
};

/** Undefined: no recipe of this name builds on another one. */
export function stackedRecipe(name: string): StackedRecipe | undefined {
  return Object.hasOwn(STACKED, name) ? STACKED[name as StackedName] : undefined;
}
