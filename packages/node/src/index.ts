export { type DownOptions, down } from './down.ts';
export { DEFAULT_LISTEN, DEFAULT_STATE_DIR, type NodePaths, nodePaths } from './paths.ts';
export { type UpOptions, up } from './up.ts';
