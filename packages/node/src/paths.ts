import { createHash } from 'node:crypto';
import { realpathSync } from 'node:fs';
import { join, resolve } from 'node:path';

export const DEFAULT_STATE_DIR = '/var/lib/vivarium';
export const DEFAULT_LISTEN = '127.0.0.1:7700';

/** The clone (or package) that this program runs from. */
export const ROOT = resolve(import.meta.dirname, '../../..');
export const VIV_INIT = join(ROOT, 'guest/build/viv-init');

export type NodePaths = ReturnType<typeof nodePaths>;

/**
 * Where a node keeps what. The run directory of the default state directory is /run/vivarium; any other state directory has
 * one of its own, so that nodes can run side by side. It is short because unix socket paths end at 107 bytes (unix(7)).
 */
export function nodePaths(stateDir: string) {
  const state = realPath(stateDir);
  const suffix = state === DEFAULT_STATE_DIR ? '' : `-${shortHash(state)}`;
  const run = `/run/vivarium${suffix}`;
  return {
    stateDir: state,
    runDir: run,
    /** Name of the node's base control group in each hierarchy (the driver makes it so, edge/drivers/container/node.ts). */
    groupName: `vivarium-${shortHash(run)}`,
    holderRecord: join(run, 'holder.json'),
    serverRecord: join(run, 'server.json'),
    /** There while a server starts: it may have thousands of sandboxes to adopt. */
    startingRecord: join(run, 'starting.json'),
    lock: join(state, 'lock'),
    /** Written at the first up: `viv down --purge` deletes only directories that have it. */
    marker: join(state, 'vivarium-state'),
    logDir: join(state, 'log'),
    keyDir: join(state, 'keys'),
    firstKey: join(state, 'keys/first.key'),
    /** Where it listens, for commands on this machine (sdk/node/local-connection.ts). */
    url: join(state, 'keys/url'),
    keyDatabase: join(state, 'keys/keys.db'),
    /** What only E2B clients speak of. */
    e2bDatabase: join(state, 'e2b.db'),
    /** Uploads for template builds. */
    e2bDir: join(state, 'e2b'),
    scratchImage: join(state, 'scratch.btrfs'),
    volumesImage: join(state, 'volumes.btrfs'),
  };
}

function shortHash(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 8);
}

/** Real path, also of a directory that does not exist (yet). */
function realPath(path: string): string {
  const absolute = resolve(path);
  try {
    return realpathSync(absolute);
  } catch {
    return absolute;
  }
}
