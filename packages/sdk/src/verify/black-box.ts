import { GlobSet } from '@vivarium/protocol/glob-set.ts';
import { VivError } from '@vivarium/protocol/viv-error.ts';
import type { Sandbox } from '../sandbox.ts';
import { AS_ROOT } from './as-root.ts';
import type { GradeRequest } from './request.ts';

/** First steps of paths that a workspace can't have: what the grader runs from, or its own home, would come from the agent. */
const NO_WORKSPACE = 'bin boot dev etc lib lib32 lib64 libx32 logs proc root run sbin solution sys tests tmp usr'.split(
  ' ',
);
/** Everything the grader uses and the agent's program shall neither read nor write. */
const CLOSED = ['/tests', '/logs/verifier'];

/** Refuses what can't be a black box before anything is done. @throws VivError `invalid_argument` that names the reason. */
export function checkBlackBox({ agentUser, user, workspace }: GradeRequest & { workspace: string[] }): void {
  if (agentUser === undefined) throw refusal('no agentUser is named, and the image has no user');
  if (isRoot(agentUser)) throw refusal('the agent’s program would run as root, which reads and writes everything');
  if (user !== undefined && sameUser(user, agentUser))
    throw refusal(`the grader would run as the agent’s user ${user}`);
  if (workspace.length === 0) throw refusal('no workspace is named, so nothing of the agent would be graded');
  const wrong = workspace.find((pattern) => !isSafeWorkspace(pattern));
  if (wrong !== undefined) throw refusal(`the workspace ${wrong} holds what the grader runs from`);
}

/** A path, or a pattern whose first step is none, away from the system's directories; `/var` only further down. */
function isSafeWorkspace(pattern: string): boolean {
  if (!pattern.startsWith('/')) return false;
  const steps = pattern.split('/').filter((step) => step !== '');
  const [first, second] = steps;
  if (first === undefined || /[*?]/.test(first) || steps.includes('..') || steps.includes('.')) return false;
  if (first === 'var' || first === 'home') return second !== undefined && !/[*?]/.test(second);
  return !NO_WORKSPACE.includes(first);
}

/** Only the workspace is carried over. */
export function blackBoxSplit(workspace: readonly string[]): { only: string[] } {
  return { only: [...workspace] };
}

/**
 * Takes the grader's files from the agent's user, and looks up who that is, in the image's own list of users. Returns the variables
 * that tell the grader: VIV_AGENT_USER, and VIV_AGENT_RUN, the words to put before the agent's program.
 */
export async function closeToAgent(
  sandbox: Sandbox,
  request: GradeRequest & { workspace?: string[] },
): Promise<Record<string, string>> {
  const agent = await lookUp(sandbox, request.agentUser!);
  const grader = await lookUp(sandbox, request.user ?? 'root');
  if (agent.uid === 0) throw refusal(`${request.agentUser} is root, which reads and writes everything`);
  if (agent.uid === grader.uid) throw refusal(`the grader’s user ${request.user} is the agent’s`);
  if (new GlobSet(request.workspace ?? []).matches(grader.home))
    throw refusal(`the workspace holds the grader’s home ${grader.home}`);
  await Promise.all(
    CLOSED.map(async (path) => {
      if (!(await sandbox.files.exists(path, AS_ROOT))) return;
      await sandbox.files.chown(path, `${grader.uid}:${grader.gid}`, AS_ROOT);
      await sandbox.files.chmod(path, 0o700, AS_ROOT);
    }),
  );
  const run = ['setpriv', `--reuid=${agent.uid}`, `--regid=${agent.gid}`, '--clear-groups', '--no-new-privs'];
  return {
    VIV_AGENT_USER: request.agentUser!,
    VIV_AGENT_RUN: [...run, '--bounding-set=-all', '--inh-caps=-all'].join(' '),
  };
}

type Account = { uid: number; gid: number; home: string };

/** `name`, `uid`, `name:group` or `uid:gid`, by /etc/passwd: only the image can have written it. */
async function lookUp(sandbox: Sandbox, spec: string): Promise<Account> {
  const [user = '', group] = spec.split(':');
  const passwd = await sandbox.files.readText('/etc/passwd', { ...AS_ROOT, length: 1_048_576 }).catch(() => '');
  const lines = passwd.split('\n').map((line) => line.split(':'));
  const numeric = /^\d+$/.test(user);
  const found = lines.find(([name, , uid]) => (numeric ? uid === user : name === user));
  if (!numeric && found === undefined) throw refusal(`the image has no user ${user}`);
  const uid = Number(found?.[2] ?? user);
  const gid = group !== undefined && /^\d+$/.test(group) ? Number(group) : Number(found?.[3] ?? uid);
  if (!Number.isInteger(uid) || !Number.isInteger(gid)) throw refusal(`${spec} is no user of the image`);
  return { uid, gid, home: found?.[5] ?? '/' };
}

function isRoot(user: string): boolean {
  return /^(root|0+)(:|$)/.test(user);
}

function sameUser(a: string, b: string): boolean {
  return a.split(':')[0] === b.split(':')[0];
}

function refusal(reason: string): VivError {
  return new VivError('invalid_argument', `this can’t be graded as a black box: ${reason}`, {
    details: { field: 'isolation', reason },
    hint: 'Name an ordinary agentUser and a workspace of its own, or use the isolation in_process.',
  });
}
