import { parseArgs } from 'node:util';
import { type ListenAddress, parseListen } from './listen-address.ts';
import { DEFAULT_LISTEN, DEFAULT_STATE_DIR, type NodePaths, nodePaths } from './paths.ts';

/** What `viv up` tells the server process, as its command line. */
export type ServerOptions = {
  paths: NodePaths;
  listen: ListenAddress;
  domain: string | undefined;
  /** Log lines go to stderr too (foreground). */
  logStderr: boolean;
  /** Nobody waits for it: the holder starts it again when it dies. */
  detached: boolean;
  /** Ends every sandbox and exits: what `viv down` runs when the server is dead. */
  endAll: boolean;
};

export function parseServerOptions(argv: string[]): ServerOptions {
  const { values } = parseArgs({
    args: argv,
    options: {
      'state-dir': { type: 'string', default: DEFAULT_STATE_DIR },
      listen: { type: 'string', default: DEFAULT_LISTEN },
      domain: { type: 'string' },
      'log-stderr': { type: 'boolean', default: false },
      detached: { type: 'boolean', default: false },
      'end-all': { type: 'boolean', default: false },
    },
  });
  return {
    paths: nodePaths(values['state-dir']),
    listen: parseListen(values.listen),
    domain: values.domain,
    logStderr: values['log-stderr'],
    detached: values.detached,
    endAll: values['end-all'],
  };
}
