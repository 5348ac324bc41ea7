import type { Image, ImageConfig, ImageImport, Layer, Progress } from '@vivarium/protocol';

/**
 * The node's images and layers (state directory `layers/`): immutable, content-addressed EROFS files plus manifests.
 * Mounting is here too: one read-only mount per layer and node, shared by every sandbox that uses it.
 */
export interface ImageStore {
  list(): Image[];
  /** Throws VivError `image_not_found` that names what is there. */
  get(name: string): Image;
  has(name: string): boolean;
  /**
   * Removes the name, then every layer no image needs any more. Throws `image_in_use` while the image is acquired, or when a layer that would
   * go is held or `inUse` says so.
   */
  remove(name: string): Promise<void>;
  /**
   * Makes an image. The last line is `done`; errors are thrown, not yielded, after everything half-made is gone: `image_exists`,
   * `invalid_argument`, `invalid_image`, `import_failed` (the tool's words in details.output; canceled), `node_disk_full`, `precondition_failed`.
   * Nothing starts before the first `next()`; leaving the loop cancels. An image whose layer is corrupt may be imported again.
   */
  import(request: ImageImport, signal: AbortSignal): AsyncIterable<Progress>;
  /**
   * The same from a tar stream (plain, gzip, zstd). Also throws `path_escapes`. Device nodes are left out and reported as progress.
   * `opaque`: directories of it (`/tests`) that hide what lies below when the image is laid over another; one that is missing: `invalid_argument`.
   */
  importTar(
    request: { name: string; config: Partial<ImageConfig>; opaque?: readonly string[] },
    body: AsyncIterable<Uint8Array>,
    signal: AbortSignal,
  ): AsyncIterable<Progress>;
  /** Builds one layer of an overlay upper directory (ids shifted back by idShift) and registers image = parent's layers + it. */
  commit(request: {
    name: string;
    parent: string;
    upperDir: string;
    idShift: number;
    labels?: Record<string, string>;
    createdBy: string;
  }): Promise<Image>;
  /** Mounts the image's layers where they are not yet, checks each layer's digest the first time this process sees it (`image_corrupt` names it). Lowest first. Holds a reference until release. */
  acquire(name: string): Promise<{ image: Image; layers: { digest: string; path: string }[]; release(): void }>;
  /** The same for layers a live sandbox already uses (adoption). */
  reacquire(digests: string[]): { release(): void };
  /** Is a layer file there and right? Used by `viv doctor` and tests. */
  verify(digest: string): Promise<void>;
  /** Unmounts layers nobody uses. */
  close(): Promise<void>;
}
export type { Image, ImageConfig, Layer };
