import type {
  Image,
  ImageConfig,
  ImageImport,
  Layer,
  Lineage,
  PackReport,
  PackRequest,
  PackRequestInput,
  Progress,
} from '@vivarium/protocol';

export type CommitRequest = {
  name: string;
  /** The image below; its config is the new image's, unless one is given. */
  parent: string;
  /** Images that lay over the parent when the upper directory was written. */
  overlay?: readonly string[];
  /** Only read. Nothing should change it meanwhile; if something does, the layer has some of it, and no harm is done. */
  upperDir: string;
  /** First id of the sandbox's range: taken off every owner. */
  idShift: number;
  /** Added to those of the config. */
  labels?: Record<string, string> | undefined;
  config?: ImageConfig;
  /** What made the layer: snapshot, pack, a Dockerfile's instruction, … */
  createdBy: string;
  /** Default: nothing is scrubbed or left out, times are kept. */
  pack?: PackOptions;
  lineage?: Omit<Lineage, 'parent'>;
  signal?: AbortSignal;
};
export type DeriveRequest = {
  name: string;
  parent: string;
  config: ImageConfig;
  labels?: Record<string, string>;
  /** Default `derive`. */
  kind?: Lineage['kind'];
  key?: string;
};
export type PackOptions = Pick<PackRequest, 'scrub' | 'keep' | 'exclude' | 'times'> & Pick<PackRequestInput, 'split'>;

/**
 * The node's images and layers (state directory `layers/`): immutable, content-addressed EROFS files plus manifests.
 * Mounting is here too: one read-only mount per layer and node, shared by every sandbox that uses it.
 */
export interface ImageStore {
  /** Sorted by name. Names `cache/…` are steps of builds: only with `all`. */
  list(options?: { all?: boolean }): Image[];
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
  /**
   * Makes an image of an OCI layout or docker-save archive that comes as a tar stream (plain, gzip, zstd). `ref`: which image of several.
   * Each of its layers becomes one of ours; one that is known is not converted again. Digests are checked. Also throws `path_escapes`,
   * `limit_too_high` (too many layers).
   */
  importOci(
    request: { name: string; ref?: string | undefined; config: Partial<ImageConfig> },
    body: AsyncIterable<Uint8Array>,
    signal: AbortSignal,
  ): AsyncIterable<Progress>;
  /**
   * The image that an OCI reference names, brought from its registry unless it is here already; whoever comes second waits. Throws as
   * `import` does: `import_failed` with skopeo's words, `precondition_failed` without skopeo.
   */
  pull(reference: string, signal: AbortSignal): Promise<Image>;
  /**
   * Makes one layer of what an overlay upper directory changes (see CommitRequest) and an image of the layers below and it. The same
   * name again is fine when layers and config come out the same. All or nothing. Throws `image_not_found`, `image_exists`,
   * `invalid_image` (too large, too deep), `limit_too_high` (too many layers), `node_disk_full`.
   */
  commit(request: CommitRequest): Promise<PackReport>;
  /** An image with the layers of another and a config of its own; there already with the same ones is fine, else `image_exists`. */
  derive(request: DeriveRequest): Promise<Image>;
  /** Mounts the image's layers where they are not yet, checks each layer's digest the first time this process sees it (`image_corrupt` names it). Lowest first. Holds a reference until release. */
  acquire(name: string): Promise<{ image: Image; layers: { digest: string; path: string }[]; release(): void }>;
  /** The same for layers a live sandbox already uses (adoption). */
  reacquire(digests: string[]): { release(): void };
  /** Mounts and holds layers that are in use already, whatever names they have now. */
  acquireLayers(digests: readonly string[]): Promise<{ layers: { digest: string; path: string }[]; release(): void }>;
  /** Is a layer file there and right? Used by `viv doctor` and tests. */
  verify(digest: string): Promise<void>;
  /** Unmounts layers nobody uses. */
  close(): Promise<void>;
}
export type { Image, ImageConfig, Layer };
