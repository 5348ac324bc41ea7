import type { StackedRecipe } from '@vivarium/layers/recipes/stacked.ts';
import { type BuildProgress, BuildRequest, type ImageImport, type Progress, VivError } from '@vivarium/protocol';
import type { BuildService, Owner } from '../edge.ts';
import type { EdgeContext } from '../lifecycle/context.ts';
import { recipeArchive } from './recipe-archive.ts';

/** Nobody's key: the recipe and all that it runs are the node's own. */
const OWNER: Owner = { keyId: 'builtin', maxSandboxes: null };
const TIMEOUT_MS = 3_600_000;
const LINE_MAX = 200;
const PROXIES = ['http_proxy', 'https_proxy', 'no_proxy', 'HTTP_PROXY', 'HTTPS_PROXY', 'NO_PROXY'];

/**
 * Makes an image from a recipe that builds on another image, which is made first where it is missing. Throws what an import and a build
 * throw.
 */
export async function* stackedImport(
  context: EdgeContext,
  builds: BuildService,
  recipe: StackedRecipe,
  { name, config }: ImageImport,
  signal: AbortSignal,
): AsyncGenerator<Progress> {
  if (Object.keys(config.env).length > 0 || config.cwd !== undefined || config.user !== undefined)
    throw new VivError('invalid_argument', 'this recipe brings its own config; import it without one', {
      details: { field: 'config' },
    });
  if (context.images.has(name))
    throw new VivError('image_exists', `image ${name} exists`, { details: { image: name } });
  const { image, builtin } = recipe.parent;
  if (!context.images.has(image)) {
    const request = {
      name: image,
      source: { type: 'builtin' as const, name: builtin },
      config: { env: {}, labels: {} },
    };
    for await (const line of context.images.import(request, signal)) if (line.type !== 'done') yield line;
  }
  const request = BuildRequest.parse({ name, network: 'node', timeoutMs: TIMEOUT_MS, buildArgs: proxies() });
  for await (const line of builds.build(request, recipeArchive(recipe), OWNER, signal)) {
    const shown = progressOf(line);
    if (shown) yield shown;
  }
}

function progressOf(line: BuildProgress): Progress | undefined {
  if (line.type === 'done') return line;
  if (line.type === 'step' && line.cached === null)
    return {
      type: 'progress',
      stage: 'build',
      message: line.instruction.slice(0, LINE_MAX),
      done: line.index - 1,
      total: line.total,
    };
  if (line.type === 'output') {
    const message = line.text.trimEnd().split('\n').at(-1)!.trim().slice(0, LINE_MAX);
    return message === '' ? undefined : { type: 'progress', stage: 'build', message };
  }
  return undefined;
}

function proxies(): Record<string, string> {
  return Object.fromEntries(PROXIES.flatMap((name) => (process.env[name] ? [[name, process.env[name]]] : [])));
}
