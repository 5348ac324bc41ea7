import type { Edge } from '@vivarium/edge/edge.ts';
import { BUILTIN_TEMPLATES, isBuiltinTemplate } from '@vivarium/protocol/builtin-templates.ts';

/** What E2B's clients name as an image to build from, when they are told none. */
const IMAGES: Record<string, string> = { 'e2bdev/base': 'base', 'e2bdev/code-interpreter': 'code-interpreter-v1' };

/** The image of a builtin template, the newest version that there is: every key may use it. Undefined: there is none of that name, or it was not made yet (`viv template install`). */
export function builtinImage(edge: Edge, name: string): string | undefined {
  if (!isBuiltinTemplate(name)) return undefined;
  const family = BUILTIN_TEMPLATES[name].image.replace(/@.*$/, '@');
  const versions = allImages(edge).filter((image) => image.startsWith(family));
  return versions.sort((a, b) => b.localeCompare(a, 'en', { numeric: true }))[0];
}

/** Names of images that stand for builtin templates, for the builder's map. */
export function builtinImages(edge: Edge): Record<string, string> {
  return Object.fromEntries(
    Object.entries(IMAGES).flatMap(([reference, name]) => {
      const image = builtinImage(edge, name);
      return image === undefined ? [] : [[`${reference}:*`, image]];
    }),
  );
}

/** The builtin template that a reference of an image stands for. */
export function builtinOfImage(reference: string): string | undefined {
  const path = reference.replace(/^docker\.io\//, '').replace(/:[^/]*$/, '');
  return Object.hasOwn(IMAGES, path) ? IMAGES[path] : undefined;
}

function allImages(edge: Edge): string[] {
  const names: string[] = [];
  for (let cursor: string | undefined; ; ) {
    const { items, nextCursor } = edge.images.list({ limit: 1000, cursor });
    names.push(...items.map(({ name }) => name));
    if (nextCursor === null) return names;
    cursor = nextCursor;
  }
}
