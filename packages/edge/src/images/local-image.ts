import type { ImageStore } from '@vivarium/layers/store.ts';
import { ImageName } from '@vivarium/protocol';

/**
 * The name of an image on this node: a name is what it is; an OCI reference stands for the image that the node brings from its registry,
 * once. Throws `import_failed`, `invalid_image`, `precondition_failed` (no skopeo).
 */
export function localImage(images: ImageStore, reference: string): string | Promise<string> {
  if (ImageName.safeParse(reference).success) return reference;
  return images.pull(reference, new AbortController().signal).then(({ name }) => name);
}
