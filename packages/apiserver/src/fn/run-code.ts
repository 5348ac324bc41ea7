import {
  type ExecResult,
  FN_FILES_OUT_BYTES_MAX,
  FnRequest,
  type FnResult,
  LIMITS,
  type RunCodeRequest,
  type RunCodeResponse,
  type RunCodeStep,
  VivError,
} from '@vivarium/protocol';
import { check } from '../http/issues.ts';

/** What a request is made in that names no image. */
export const RUN_CODE_IMAGE = 'base/debian@12';

/** The same as a call of ours. Throws `invalid_argument`. */
export function requestOf(asked: RunCodeRequest): FnRequest {
  const { code, language, stdin, files, fetch_files: filesOut, args, image = RUN_CODE_IMAGE } = asked;
  const memoryMiB = asked.memory_limit_MB > 0 ? Math.max(asked.memory_limit_MB, LIMITS.memoryMiB.min) : undefined;
  return check(FnRequest, {
    image,
    language,
    code,
    args,
    files: Object.entries(files)
      .filter(([, content]) => content !== null)
      .map(([path, contentB64]) => ({ path, contentB64 })),
    filesOut: filesOut.map(literal),
    filesOutMaxBytes: FN_FILES_OUT_BYTES_MAX,
    timeoutMs: Math.ceil(asked.run_timeout * 1000),
    compileTimeoutMs: Math.ceil(asked.compile_timeout * 1000),
    ...(stdin !== null && { stdin: Buffer.from(stdin, 'utf8').toString('base64') }),
    ...(memoryMiB !== undefined && { limits: { memoryMiB } }),
  });
}

export function responseOf(asked: RunCodeRequest, result: FnResult): RunCodeResponse {
  const run = result.stage === 'run' ? result : null;
  const lost = result.outcome?.type === 'sandbox_lost' || result.outcome?.type === 'canceled';
  const steps = [result.compile, run].filter((step) => step !== null);
  const succeeded = steps.every(({ outcome }) => outcome?.type === 'exited' && outcome.code === 0);
  return {
    status: lost ? 'SandboxError' : succeeded ? 'Success' : 'Failed',
    message: succeeded ? '' : (result.message ?? ''),
    compile_result: result.compile && stepOf(result.compile),
    run_result: run && stepOf(run),
    executor_pod_name: result.sandbox,
    files: fetched(asked, result),
  };
}

/** The answer when the node could not do it. Throws what the caller can do something about. */
export function failureOf(thrown: unknown): RunCodeResponse {
  const error = VivError.from(thrown);
  if (error.code === 'internal' || error.fault === 'user' || error.fault === 'task') throw thrown;
  const message = `${error.message} (${error.code})`;
  return {
    status: 'SandboxError',
    message,
    compile_result: null,
    run_result: null,
    executor_pod_name: null,
    files: {},
  };
}

function stepOf(step: ExecResult): RunCodeStep {
  const timedOut = step.outcome?.type === 'timeout';
  const lost = step.outcome?.type === 'sandbox_lost' || step.outcome?.type === 'canceled';
  return {
    status: timedOut ? 'TimeLimitExceeded' : lost ? 'Error' : 'Finished',
    execution_time: step.durationMs === null ? null : step.durationMs / 1000,
    return_code: timedOut || lost ? null : returnCode(step),
    stdout: text(step.stdoutB64),
    stderr: text(step.stderrB64),
  };
}

/** As Python’s subprocess says it. What ran out of memory or wrote too much was killed. */
function returnCode({ outcome, exitCode }: ExecResult): number | null {
  if (outcome?.type === 'signaled') return -outcome.signal;
  if (outcome?.type === 'oom' || outcome?.type === 'output_limit') return -9;
  return exitCode;
}

/** Under the names that were asked for. */
function fetched(asked: RunCodeRequest, { files }: FnResult): Record<string, string> {
  const byPath = new Map(files.map(({ path, contentB64 }) => [path, contentB64]));
  const found = asked.fetch_files.flatMap((path) => {
    const content = byPath.get(path);
    return content === undefined ? [] : [[path, content] as const];
  });
  return Object.fromEntries(found);
}

/** There these are names, here patterns. */
const literal = (path: string) => path.replace(/[*?[\\]/g, '\\$&');
const text = (base64: string) => Buffer.from(base64, 'base64').toString('utf8');
