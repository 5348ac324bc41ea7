import { type Key, VivError } from '@vivarium/protocol';
import type { E2bContext } from '../context.ts';
import type { BuildRow } from '../store/build-table.ts';
import type { TemplateRow } from '../store/template-table.ts';
import { DEFAULT_TAG, tryReference } from './templates-name.ts';

type Stored = Pick<E2bContext, 'store'>;

/** A template that this key may use, by id or name: its own before public ones. The scope `admin` may use all. */
export function seenTemplate({ store }: Stored, key: Key, text: string): TemplateRow | undefined {
  const name = text.trim().toLowerCase();
  const rows = [store.templates.get(text), ...store.templates.named(name)].filter((row) => row !== undefined);
  return (
    rows.find(({ owner }) => owner === key.id) ??
    rows.find((row) => row.public) ??
    (key.scopes.includes('admin') ? rows[0] : undefined)
  );
}

/** A template that this key may change. Throws `image_not_found`, and `forbidden` for one that is public only. */
export function ownTemplate(stored: Stored, key: Key, text: string): TemplateRow {
  const row = seenTemplate(stored, key, text);
  if (!row) throw noTemplate(text);
  if (row.owner !== key.id && !key.scopes.includes('admin'))
    throw new VivError('forbidden', `template '${text.slice(0, 200)}' belongs to another key`);
  return row;
}

/** What `name`, `name:tag`, `id` or `id:tag` stands for. Undefined: no template. Throws `image_not_found` for a tag it has not. */
export function taggedBuild(
  stored: Stored,
  key: Key,
  text: string,
): { template: TemplateRow; build: BuildRow } | undefined {
  const reference = tryReference(text);
  const template = reference && seenTemplate(stored, key, reference.name);
  if (!template) return undefined;
  const tags = stored.store.templates.tags(template.id);
  const tag = reference.tag ?? DEFAULT_TAG;
  const build = tags.find((one) => one.tag === tag)?.build ?? buildById(stored, template.id, reference.tag);
  const row = build === undefined ? undefined : stored.store.builds.get(build);
  if (row?.status === 'ready') return { template, build: row };
  const known = tags.map((one) => one.tag).slice(0, 20);
  throw new VivError(
    'image_not_found',
    known.length === 0
      ? `template '${text.slice(0, 200)}' has no build that is ready`
      : `template '${reference.name}' has no tag ${tag}; it has ${known.join(', ')}`,
  );
}

/** `id:build` for the name of an image that a build of a template made: whoever may use the template may name it so. */
export function templateImage(image: string): string | undefined {
  const match = /^e2b\/([a-z0-9]{20})@(.+)$/.exec(image);
  return match ? `${match[1]}:${match[2]}` : undefined;
}

/** The image that a build makes. */
export function imageOfBuild({ id, template }: Pick<BuildRow, 'id' | 'template'>): string {
  return `e2b/${template}@${id}`;
}

export function noTemplate(text: string): VivError {
  return new VivError('image_not_found', `template '${text.slice(0, 200)}' not found`);
}

/** A build may be named in the place of a tag. */
function buildById({ store }: Stored, template: string, id: string | null): string | undefined {
  if (id === null) return undefined;
  return store.builds.get(id)?.template === template ? id : undefined;
}
