import { type ErrorCode, VivError } from '@vivarium/protocol';
import { FilesQuery } from '@vivarium/protocol/e2b/filesystem.ts';
import type { z } from 'zod';
import { check } from '../../http/issues.ts';
import { parseQuery } from '../../http/query.ts';
import { sendUnreachable } from '../error.ts';
import type { EnvdCall } from './envd-call.ts';
import { sendFile } from './files-http-read.ts';
import { takeFiles } from './files-http-write.ts';
import type { EnvdHttp } from './methods.ts';
import { admitFiles, signedBy } from './signature.ts';

/** envd's /files: one file down, one or several up. */
export const FILES_HTTP: Readonly<Record<'GET /files' | 'POST /files', EnvdHttp>> = {
  'GET /files': { admit: admitFiles, signedBy, run: (call) => served(call, sendFile) },
  'POST /files': { admit: admitFiles, signedBy, run: (call) => served(call, takeFiles) },
};

type Query = z.output<typeof FilesQuery>;

/** A sandbox that ends meanwhile is one that was not found: a client takes no error of a file for that. */
async function served(call: EnvdCall, serve: (call: EnvdCall, query: Query) => Promise<void>): Promise<void> {
  const { req, res, sandbox } = call;
  try {
    await serve(call, check(FilesQuery, parseQuery(req.url?.split('?')[1] ?? '', FilesQuery), 'query'));
  } catch (thrown) {
    if (res.headersSent || !hasGone(call, VivError.from(thrown).code)) throw thrown;
    sendUnreachable(req, res, sandbox);
  }
}

function hasGone({ context, sandbox }: EnvdCall, code: ErrorCode): boolean {
  if (code === 'sandbox_dead' || code === 'sandbox_lost' || code === 'sandbox_not_found') return true;
  return code === 'connection_lost' && context.edge.sandboxes.get(sandbox).state !== 'running';
}
