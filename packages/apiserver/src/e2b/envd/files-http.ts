import { FilesQuery } from '@vivarium/protocol/e2b/filesystem.ts';
import type { z } from 'zod';
import { check } from '../../http/issues.ts';
import { parseQuery } from '../../http/query.ts';
import type { EnvdCall } from './envd-call.ts';
import { sendFile } from './files-http-read.ts';
import { takeFiles } from './files-http-write.ts';
import type { EnvdHttp } from './methods.ts';
import { admitFiles, signedBy } from './signature.ts';

/** envd's /files: one file down, one or several up. */
export const FILES_HTTP: Readonly<Record<'GET /files' | 'POST /files', EnvdHttp>> = {
  'GET /files': { admit: admitFiles, signedBy, run: (call) => sendFile(call, queryOf(call)) },
  'POST /files': { admit: admitFiles, signedBy, run: (call) => takeFiles(call, queryOf(call)) },
};

function queryOf({ req }: EnvdCall): z.output<typeof FilesQuery> {
  const search = req.url?.split('?')[1] ?? '';
  return check(FilesQuery, parseQuery(search, FilesQuery), 'query');
}
