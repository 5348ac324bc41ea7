import type { IncomingMessage } from 'node:http';
import type { SignedBy } from '../signed-files.ts';
import type { EnvdCall, RpcTable } from './envd-call.ts';
import { FILES_HTTP } from './files-http.ts';
import { FILESYSTEM_METHODS } from './filesystem.ts';
import { PROCESS_METHODS } from './process.ts';

/** A plain HTTP request to envd. */
export type EnvdHttp = {
  /** In place of the check of `X-Access-Token`, for secure sandboxes: throws `unauthenticated`. The token is the sandbox's. */
  admit?(req: IncomingMessage, token: string): void;
  /** It needs no token. */
  open?: true;
  /** Of requests that name no sandbox: does their signature belong to this token? */
  signedBy?: SignedBy;
  run(call: EnvdCall): Promise<void> | void;
};

/** Connect RPC methods by path. */
export const RPC_METHODS: RpcTable = { ...PROCESS_METHODS, ...FILESYSTEM_METHODS };

/** By method and path, such as `GET /files`. */
export const HTTP_METHODS: Readonly<Record<string, EnvdHttp>> = {
  ...FILES_HTTP,
  'GET /health': { open: true, run: ({ res }) => void res.writeHead(204).end() },
};
