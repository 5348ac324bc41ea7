/** What only Node can do: the login file, the local node's key, local directories. */

export { makeDirectory } from '@vivarium/protocol/make-directory.ts';
export { localConnection } from './node/local-connection.ts';
export { configDirectory, type Login, readLogin, removeLogin, writeLogin } from './node/login-file.ts';
export { type PackedContext, packContext } from './node/pack-context.ts';
export { packTree, type TreeProgress } from './node/pack-tree.ts';
export { unpackTree } from './node/unpack-tree.ts';
