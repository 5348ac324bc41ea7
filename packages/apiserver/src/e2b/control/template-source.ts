import type { Edge } from '@vivarium/edge/edge.ts';
import { ImageName, type Key, type Limits, VivError } from '@vivarium/protocol';
import type { E2bContext } from '../context.ts';
import { interpretersOf } from '../interpreter/interpreter.ts';
import type { SnapshotRow } from '../store/snapshot-table.ts';
import { imageUser } from './image-user.ts';
import { findSnapshot, rootTemplate } from './snapshots.ts';
import { builtinImage } from './templates-builtin.ts';
import { templateImage } from './templates-find.ts';
import { resolveTemplate } from './templates-resolve.ts';

/** What a sandbox is made from. */
export type TemplateSource = {
  /** As clients shall read it. */
  templateID: string;
  alias: string | null;
  image: string;
  /** Who calls act as that name nobody. */
  user: string;
  limits?: Partial<Limits>;
  /** Runs in every new sandbox before its client hears of it; what it throws ends the sandbox. */
  start?(edge: Edge, sandbox: string, signal: AbortSignal): Promise<void>;
};

const INTERPRETER = 'e2b/code-interpreter@';

/** A template by id, name, alias or tag; a snapshot by id; or an image of the node by its name. Throws `image_not_found`. */
export function findTemplate(context: E2bContext, name: string, key: Key): TemplateSource {
  const { edge } = context;
  const template = resolveTemplate(context, key, name);
  if (template) return template;
  const snapshot = findSnapshot(context, key, name);
  if (snapshot) return { ...begunIn(context, snapshot.template, key), ...snapshotSource(snapshot) };
  const builtin = builtinImage(edge, name);
  if (builtin !== undefined)
    return { templateID: name, alias: name, image: builtin, user: 'user', ...begun(context, builtin) };
  const own = templateImage(name);
  if (own) return resolveTemplate(context, key, own) ?? notFound(name);
  if (ImageName.safeParse(name).success) {
    const image = edge.images.get(name);
    return {
      templateID: name,
      alias: null,
      image: image.name,
      user: imageUser(edge, name),
      ...begun(context, image.name),
    };
  }
  return notFound(name);
}

function snapshotSource({ id, name: alias, image, user, limits }: SnapshotRow): TemplateSource {
  return { templateID: id, alias, image, user, limits };
}

/** A snapshot has the files of its sandbox and none of its processes: what that one's template starts is started in its own too. */
function begunIn(context: E2bContext, template: string, key: Key): Pick<TemplateSource, 'start'> {
  const root = rootTemplate(context, template);
  const start = root === undefined ? undefined : findKept(context, root, key)?.start;
  return start ? { start } : {};
}

/** As `findTemplate`, of something that was made of it before. Undefined: it is gone meanwhile. */
export function findKept(context: E2bContext, name: string, key: Key): TemplateSource | undefined {
  try {
    return findTemplate(context, name, key);
  } catch (error) {
    if (VivError.from(error).code === 'image_not_found') return undefined;
    throw error;
  }
}

function notFound(name: string): never {
  throw new VivError('image_not_found', `template '${name.slice(0, 200)}' not found`);
}

/**
 * What runs in every sandbox of a template that comes with the node. Creation does not wait for it: a client that is faster waits at
 * the port.
 */
function begun({ edge, log }: E2bContext, image: string): Pick<TemplateSource, 'start'> {
  if (!image.startsWith(INTERPRETER)) return {};
  return {
    start: async (_edge, sandbox) => {
      interpretersOf(edge)
        .start(sandbox)
        .catch((err: unknown) => log.debug({ err, sandbox }, 'a code interpreter did not start'));
    },
  };
}
