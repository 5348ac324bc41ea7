import { VivError } from '@vivarium/protocol';

/** The tag of a build that asks for none, and of a name without one. */
export const DEFAULT_TAG = 'default';
const NAME = /^[a-z0-9][a-z0-9._-]{0,127}(\/[a-z0-9][a-z0-9._-]{0,127})?$/;
const TAG = /^[A-Za-z0-9_][A-Za-z0-9._-]{0,127}$/;

export type TemplateReference = { name: string; tag: string | null };

/** `name` or `name:tag`; a namespace before the name is part of it. Throws `invalid_argument`. */
export function templateReference(text: string): TemplateReference {
  const reference = tryReference(text);
  if (reference) return reference;
  throw new VivError('invalid_argument', `"${text.slice(0, 200)}" is no name of a template: NAME or NAME:TAG`, {
    details: { field: 'name' },
  });
}

/** Undefined: it can't be one. */
export function tryReference(text: string): TemplateReference | undefined {
  const cut = text.indexOf(':');
  const name = (cut < 0 ? text : text.slice(0, cut)).trim().toLowerCase();
  const tag = cut < 0 ? null : text.slice(cut + 1).trim();
  if (!NAME.test(name) || (tag !== null && !TAG.test(tag))) return undefined;
  return { name, tag };
}

/** Tags as a list of them says: `tag` or `name:tag`, each once. Throws `invalid_argument`, also for another template's name. */
export function tagNames(tags: readonly string[], template: string): string[] {
  const names = tags.map((text) => {
    const cut = text.indexOf(':');
    const [name, tag] =
      cut < 0 ? [template, text.trim()] : [text.slice(0, cut).trim().toLowerCase(), text.slice(cut + 1).trim()];
    if (name !== template || !TAG.test(tag))
      throw new VivError(
        'invalid_argument',
        `"${text.slice(0, 200)}" is no tag of ${template}: TAG or ${template}:TAG`,
        {
          details: { field: 'tags' },
        },
      );
    return tag;
  });
  return [...new Set(names)];
}
