import type { ImageStore } from '@vivarium/layers/store.ts';

/**
 * The name of the image that an OCI reference stands for: the node brings it from its registry, once. Throws `import_failed`,
 * `invalid_image`, `precondition_failed` (no skopeo).
 */
export async function pulledImage(images: ImageStore, reference: string): Promise<string> {
  const { name } = await images.pull(reference, new AbortController().signal);
  return name;
}
