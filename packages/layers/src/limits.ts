/** Bounds of the image store. Each is named in the error it causes. */
export const LAYER_LIMITS = {
  /** Bytes of file data in one layer, counted by apparent size (EROFS stores holes as zeros), and of one unpacked archive. */
  maxLayerBytes: 64 * 1024 ** 3,
  /** Files, directories and links in one layer. */
  maxLayerEntries: 4_000_000,
  /** Layers of one image: overlay takes 500, but its options must fit in one page. */
  maxImageLayers: 120,
  /** What a sandbox may have changed to be packed: files, directories and deletions, and how deep. */
  maxPackEntries: 500_000,
  maxPackDepth: 1_000,
  /** Names and attributes of one layer of an OCI image, which are held in memory while it is converted. */
  maxOciMetadataBytes: 512 * 1024 ** 2,
  /** Imports of OCI images that run at the same time: a slow registry holds up no others than these. */
  maxOciImports: 4,
  /** Builds (imports, commits) that run at the same time; more wait. */
  maxBuilds: 4,
  /** What must be left free on the file system of the state directory. */
  reserveBytes: 16 * 1024 ** 2,
  /** A package bootstrap that takes longer is ended. */
  bootstrapTimeoutMs: 30 * 60_000,
};
