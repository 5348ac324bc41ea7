import type { Edge } from '@vivarium/edge/edge.ts';

/** Templates that come with the node, and their images without the version: the newest one counts. */
const FAMILIES: Record<string, string> = { base: 'e2b/base', 'code-interpreter-v1': 'e2b/code-interpreter' };
/** What E2B's clients name as an image to build from, when they are told none. */
const IMAGES: Record<string, string> = { 'e2bdev/base': 'base', 'e2bdev/code-interpreter': 'code-interpreter-v1' };

/** Every key may use them; no template of a key can have their name. */
export function isBuiltin(name: string): boolean {
  return Object.hasOwn(FAMILIES, name);
}

/** The image of a builtin template. Undefined: there is none of that name, or it was not made yet (`viv template install`). */
export function builtinImage(edge: Edge, name: string): string | undefined {
  if (!isBuiltin(name)) return undefined;
  const versions = allImages(edge).filter((image) => image.startsWith(`${FAMILIES[name]}@`));
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
