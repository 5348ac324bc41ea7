import { type Exec, VivError } from '@vivarium/protocol';
import type { ProcessInfo, ProcessSelector } from '@vivarium/protocol/e2b/process.ts';
import type { EnvdCall } from './envd-call.ts';
import { processMemory } from './process-memory.ts';

const PAGE = 1000;

/** The command that a client means, while it runs. Throws `exec_not_found`, `invalid_argument`. */
export function liveProcess(call: EnvdCall, selector: ProcessSelector): Exec {
  const matches = matcher(selector);
  const found = running(call).findLast(matches);
  if (found) return found;
  throw missing(selector);
}

/** The same, also after its end: the newest that had this pid or tag. */
export async function anyProcess(call: EnvdCall, selector: ProcessSelector): Promise<Exec> {
  const matches = matcher(selector);
  const found = running(call).findLast(matches) ?? (await newestEnded(call, matches));
  if (found) return found;
  throw missing(selector);
}

/** Those that run, in the order of their start. */
export function processInfos(call: EnvdCall): ProcessInfo[] {
  return running(call).map((exec) => {
    const { cmd, args, envs, cwd } = processMemory.get(exec.id)?.config ?? {};
    const directory = cwd ?? exec.cwd;
    return {
      config: {
        cmd: cmd ?? exec.argv[0]!,
        args: cmd === undefined ? exec.argv.slice(1) : (args ?? []),
        envs: envs ?? {},
        ...(directory ? { cwd: directory } : {}),
      },
      pid: exec.pid!,
      ...(exec.label === null ? {} : { tag: exec.label }),
    };
  });
}

function running({ context, sandbox }: EnvdCall): Exec[] {
  return context.edge.execs.running(sandbox).filter(({ pid }) => pid !== null);
}

async function newestEnded(
  { context, sandbox }: EnvdCall,
  matches: (exec: Exec) => boolean,
): Promise<Exec | undefined> {
  let found: Exec | undefined;
  let cursor: string | undefined;
  do {
    const page = await context.edge.execs.list(sandbox, { limit: PAGE, cursor });
    found = page.items.findLast(matches) ?? found;
    cursor = page.nextCursor ?? undefined;
  } while (cursor !== undefined);
  return found;
}

function matcher({ pid, tag }: ProcessSelector): (exec: Exec) => boolean {
  if (pid !== undefined && tag !== undefined)
    throw new VivError('invalid_argument', `process.selector has both pid ${pid} and tag "${tag}"`);
  if (pid !== undefined) return (exec) => exec.pid === pid;
  if (tag !== undefined) return (exec) => exec.label === tag;
  throw new VivError('unsupported', 'process.selector has neither pid nor tag');
}

function missing({ pid, tag }: ProcessSelector): VivError {
  const what = pid === undefined ? `tag ${tag}` : `pid ${pid}`;
  return new VivError('exec_not_found', `process with ${what} not found`, { details: { pid, tag } });
}
