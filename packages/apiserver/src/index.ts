export { ensureFirstKey } from './auth/first-key.ts';
export type { KeyStore } from './auth/key-store.ts';
export { SqliteKeyStore } from './auth/sqlite-key-store.ts';
export { type ApiServer, type ApiServerOptions, createApiServer } from './server.ts';
