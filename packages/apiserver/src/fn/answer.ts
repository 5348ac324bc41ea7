import { posix } from 'node:path';
import type { FnResult as EdgeResult, FnCall } from '@vivarium/edge/edge.ts';
import { type FnResult, VivError } from '@vivarium/protocol';

/** The answer to a call: the result of its last command, and what is around it. */
export function answerOf(call: FnCall, result: EdgeResult): FnResult {
  const last = result.run ?? result.compile;
  if (!last) throw new VivError('internal', 'a call ended without a result');
  const shown = pathsOf(call);
  return {
    ...last,
    image: call.image,
    session: call.session?.name ?? null,
    cold: result.cold,
    stage: result.run ? 'run' : 'compile',
    compile: result.compile,
    files: result.files.map(({ path, content, mode }) => ({
      path: shown(path),
      contentB64: Buffer.from(content.buffer, content.byteOffset, content.byteLength).toString('base64'),
      sizeBytes: content.length,
      mode,
    })),
    filesLeft: result.filesLeft.map(({ path, reason }) => ({ path: shown(path), reason })),
    durations: result.durations,
  };
}

const PATTERN = /[*?[\\]/;

/** Paths as they were asked for: a name as it was written; what a pattern without a slash at its start matched, beneath `cwd`. */
function pathsOf({ cwd, filesOut }: FnCall): (path: string) => string {
  const absolute = (path: string) => posix.resolve(cwd ?? '/', path);
  const asked = new Map(filesOut.filter((path) => !PATTERN.test(path)).map((path) => [absolute(path), path]));
  const relative = filesOut.some((path) => PATTERN.test(path) && !path.startsWith('/'));
  const beneath = absolute('.').replace(/\/?$/, '/');
  return (path) => {
    const whole = absolute(path);
    if (relative && !asked.has(whole) && whole.startsWith(beneath)) return whole.slice(beneath.length);
    return asked.get(whole) ?? whole;
  };
}
