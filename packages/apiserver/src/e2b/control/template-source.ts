import type { Edge } from '@vivarium/edge/edge.ts';
import { ImageName, type Key, type Limits, VivError } from '@vivarium/protocol';
import type { E2bContext } from '../context.ts';
import { startInterpreter } from '../interpreter/interpreter.ts';
import { imageUser } from './image-user.ts';
import { findSnapshot } from './snapshots.ts';

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
  start?(edge: Edge, sandbox: string): Promise<void>;
};

/** Templates that come with the node, by the family of their images: the newest version counts. */
const BUILTIN: Record<string, string> = { base: 'e2b/base', 'code-interpreter-v1': 'e2b/code-interpreter' };

/** A template by id, name, alias or tag; a snapshot by id; or an image of the node by its name. Throws `image_not_found`. */
export function findTemplate(context: E2bContext, name: string, key: Key): TemplateSource {
  const { edge } = context;
  const snapshot = findSnapshot(context, key, name);
  if (snapshot) {
    const { id, name: alias, image, user, limits } = snapshot;
    return { templateID: id, alias, image, user, limits };
  }
  const family = Object.hasOwn(BUILTIN, name) ? BUILTIN[name] : undefined;
  if (family !== undefined) {
    const image = edge.images
      .list({ limit: 1000 })
      .items.filter((one) => one.name.startsWith(`${family}@`))
      .sort((a, b) => b.name.localeCompare(a.name, 'en', { numeric: true }))[0];
    if (image) return { templateID: name, alias: name, image: image.name, user: 'user', ...begun(image.name) };
  }
  if (ImageName.safeParse(name).success) {
    const image = edge.images.get(name);
    return { templateID: name, alias: null, image: image.name, user: imageUser(edge, name), ...begun(image.name) };
  }
  throw new VivError('image_not_found', `template '${name.slice(0, 200)}' not found`);
}

/** What runs in every sandbox of a template that comes with the node. */
function begun(image: string): Pick<TemplateSource, 'start'> {
  return image.startsWith(`${BUILTIN['code-interpreter-v1']}@`) ? { start: startInterpreter } : {};
}
