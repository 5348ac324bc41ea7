import type { FnCall } from '@vivarium/edge/edge.ts';
import { FN_CWD, FN_FILES_MAX, type FnRequest, VivError } from '@vivarium/protocol';
import type { Language } from './language-table.ts';

/** What the edge is asked to do for a request; `language` is that of a request with code. */
export function callOf(request: FnRequest, language: Language | undefined, session: string | undefined): FnCall {
  const { cwd = FN_CWD, compileTimeoutMs, timeoutMs } = request;
  const files = request.files.map(({ path, contentB64, mode }) => ({
    path,
    content: Buffer.from(contentB64, 'base64'),
    ...(mode !== undefined && { mode }),
  }));
  if (language) {
    refuseTwice(files, language, cwd);
    files.push({ path: language.file, content: Buffer.from(request.code!, 'utf8') });
  }
  const argv = language ? [...language.run, ...request.args] : request.argv!;
  return {
    image: request.image,
    limits: request.limits,
    files,
    compile: language?.compile ? { argv: [...language.compile], timeoutMs: compileTimeoutMs } : undefined,
    run: { argv, timeoutMs },
    stdin: request.stdin === undefined ? undefined : Buffer.from(request.stdin, 'base64'),
    env: request.env,
    cwd,
    user: request.user,
    filesOut: request.filesOut,
    filesOutBytesMax: request.filesOutMaxBytes,
    filesOutMax: FN_FILES_MAX,
    keepBytes: request.keepBytes,
    outputLimitBytes: request.outputLimitBytes,
    session: session === undefined ? undefined : { name: session, idleTimeoutS: request.sessionIdleS },
  };
}

/** A file that the code would be written over is a mistake of the caller. */
function refuseTwice(files: FnCall['files'], { name, file }: Language, cwd: string): void {
  const at = (path: string) => (path.startsWith('/') ? path : `${cwd}/${path}`).replace(/\/(\.?\/)+/g, '/');
  if (!files.some(({ path }) => at(path) === at(file))) return;
  throw new VivError('invalid_argument', `files has "${file}", which is what the code is written to (${name})`, {
    details: { field: 'files' },
  });
}
