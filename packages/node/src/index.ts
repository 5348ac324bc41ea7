export { type DownOptions, down } from './down.ts';
export { DEFAULT_LISTEN, DEFAULT_STATE_DIR, type NodePaths, nodePaths } from './paths.ts';
export { liveRecord, type ProcessRecord } from './process-record.ts';
export { runningServer } from './server-process.ts';
export { stopServer } from './server-stop.ts';
export { type UpOptions, up } from './up.ts';
