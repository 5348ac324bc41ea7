export { type ImageStoreOptions, openImageStore } from './image-store.ts';
export type { Mounter } from './layer-mounts.ts';
export { LAYER_LIMITS } from './limits.ts';
export type { Image, ImageConfig, ImageStore, Layer } from './store.ts';
