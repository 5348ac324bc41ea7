import { parseArgs } from 'node:util';
import { type CertificateFiles, certificateFiles } from './certificate.ts';
import { type ListenAddress, parseListen } from './listen-address.ts';
import { DEFAULT_LISTEN, DEFAULT_STATE_DIR, type NodePaths, nodePaths } from './paths.ts';

/** What `viv up` tells the server process, as its command line. */
export type ServerOptions = {
  paths: NodePaths;
  listen: ListenAddress;
  domain: string | undefined;
  tls: (CertificateFiles & { listen: ListenAddress | undefined }) | undefined;
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
      'tls-cert': { type: 'string' },
      'tls-key': { type: 'string' },
      'tls-listen': { type: 'string' },
      'log-stderr': { type: 'boolean', default: false },
      detached: { type: 'boolean', default: false },
      'end-all': { type: 'boolean', default: false },
    },
  });
  const files = certificateFiles(values['tls-cert'], values['tls-key']);
  const tlsListen = values['tls-listen'];
  return {
    paths: nodePaths(values['state-dir']),
    listen: parseListen(values.listen),
    domain: values.domain,
    tls: files && { ...files, listen: tlsListen === undefined ? undefined : parseListen(tlsListen, '--tls-listen') },
    logStderr: values['log-stderr'],
    detached: values.detached,
    endAll: values['end-all'],
  };
}
