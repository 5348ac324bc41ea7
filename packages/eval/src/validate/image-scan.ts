import { type Sandbox, VivError } from '@vivarium/sdk';
import type { AnswerFile } from './answer-files.ts';
import type { Finding } from './finding.ts';

const TIMEOUT_MS = 120_000;
const OUTPUT_BYTES_MAX = 4 * 2 ** 20;
const SHOWN_MAX = 5;

/**
 * Finds content by size, then by digest. Input: first the sizes as find(1) arguments, one line. Output: `sha256  path`
 * lines. /tests and /solution are listed whatever is in them.
 */
const FILES_SCRIPT = `
read -r sizes
for d in /tests /solution; do [ -d "$d" ] && find "$d" -type f | head -n 20 | sed 's/^/in /'; done
[ -z "$sizes" ] || find / -xdev \\( -path /proc -o -path /sys \\) -prune -o -type f \\( $sizes \\) -exec sha256sum {} +
`;

/**
 * Every repository: commits that HEAD does not have (refs, tags, reflogs, unreachable), then which of the blobs on
 * standard input its object store holds.
 */
const HISTORY_SCRIPT = `
command -v git >/dev/null || exit 0
blobs=$(cat)
find / -xdev \\( -path /proc -o -path /sys \\) -prune -o -name .git -prune -print 2>/dev/null | head -n 20 |
while IFS= read -r dir; do
  g() { git -c safe.directory='*' -c core.fsmonitor= -c core.hooksPath=/dev/null --git-dir="$dir" "$@" 2>/dev/null; }
  g rev-parse --git-dir >/dev/null || continue
  echo "repo $dir"
  later=$(g rev-list --all --reflog --not HEAD --max-count=50 --pretty='format:beyond %h %s') || echo unread
  printf '%s\\n' "$later" | grep '^beyond '
  g fsck --unreachable --no-reflogs --connectivity-only --no-progress | grep '^unreachable commit' | head -n 50
  printf '%s\\n' "$blobs" | g cat-file --batch-check | grep ' blob '
done
exit 0
`;

/** Looks for the answer in a sandbox of the task's own image, where no agent has been. */
export async function scanImage(sandbox: Sandbox, answers: readonly AnswerFile[]): Promise<Finding[]> {
  return [...(await scanFiles(sandbox, answers)), ...(await scanHistory(sandbox, answers))];
}

async function scanFiles(sandbox: Sandbox, answers: readonly AnswerFile[]): Promise<Finding[]> {
  const sizes = [...new Set(answers.map(({ bytes }) => `-size ${bytes}c`))].join(' -o ');
  const output = await run(sandbox, FILES_SCRIPT, `${sizes}\n`);
  if (output === null) return [notChecked('files of the image were not looked through: it lacks the tools')];
  const findings: Finding[] = [];
  for (const line of output.split('\n')) {
    const inside = /^in (.*)/.exec(line)?.[1];
    if (inside !== undefined) findings.push(leak('solution', `the image has ${inside}, which agents can read`));
    const [, sha256, path] = /^\\?([0-9a-f]{64}) [ *](.*)$/.exec(line) ?? [];
    const answer = answers.find((candidate) => candidate.sha256 === sha256);
    if (answer !== undefined) findings.push(leak(answer.kind, `${path} in the image is the same as ${answer.path}`));
  }
  return findings;
}

async function scanHistory(sandbox: Sandbox, answers: readonly AnswerFile[]): Promise<Finding[]> {
  const output = await run(sandbox, HISTORY_SCRIPT, answers.map(({ gitBlob }) => gitBlob).join('\n'));
  if (output === null) return [notChecked('git repositories of the image were not looked through: it lacks the tools')];
  const findings: Finding[] = [];
  for (const { dir, unread, beyond, unreachable, blobs } of repositories(output)) {
    if (unread) findings.push(notChecked(`history of ${dir} was not looked through: git can't read it`));
    for (const blob of blobs) {
      const answer = answers.find(({ gitBlob }) => gitBlob === blob);
      if (answer !== undefined)
        findings.push({
          severity: answer.kind === 'solution' ? 'error' : 'warning',
          rule: 'answer_in_history',
          message: `${answer.path} is among the objects of ${dir}`,
        });
    }
    const commits = [...beyond, ...unreachable];
    if (commits.length > 0)
      findings.push({
        severity: 'warning',
        rule: 'history_beyond_head',
        message: `${dir} has ${commits.length === 50 ? '50 or more' : commits.length} commit(s) that HEAD does not have; do they hold the fix? ${commits.slice(0, SHOWN_MAX).join(', ')}`,
      });
  }
  return findings;
}

type Repository = { dir: string; unread: boolean; beyond: string[]; unreachable: string[]; blobs: string[] };

/** The lines of HISTORY_SCRIPT by repository. */
export function repositories(output: string): Repository[] {
  const found: Repository[] = [];
  for (const line of output.split('\n')) {
    const current = found.at(-1);
    const [, word, rest] = /^(repo|beyond|unreachable commit) (.*)/.exec(line) ?? [];
    if (word === 'repo') found.push({ dir: rest!, unread: false, beyond: [], unreachable: [], blobs: [] });
    else if (line === 'unread' && current !== undefined) current.unread = true;
    else if (word === 'beyond') current?.beyond.push(rest!.slice(0, 80));
    else if (word !== undefined) current?.unreachable.push(rest!.slice(0, 10));
    else if (/^[0-9a-f]{40,64} blob /.test(line)) current?.blobs.push(line.split(' ')[0]!);
  }
  return found;
}

/** Null: the image lacks what the script needs, or it took too long. */
async function run(sandbox: Sandbox, script: string, stdin: string): Promise<string | null> {
  const options = { stdin, user: 'root', cwd: '/', timeoutMs: TIMEOUT_MS, keepBytes: OUTPUT_BYTES_MAX };
  try {
    const done = await sandbox.exec(['/bin/sh', '-c', script], { ...options, env: { LC_ALL: 'C' } });
    return done.ok || done.stdout !== '' ? done.stdout : null;
  } catch (error) {
    const known = VivError.from(error);
    if (known.fault === 'infra') throw known;
    return null;
  }
}

function leak(kind: AnswerFile['kind'], message: string): Finding {
  return { severity: kind === 'solution' ? 'error' : 'warning', rule: 'answer_in_image', message };
}

function notChecked(message: string): Finding {
  return { severity: 'note', rule: 'not_checked', message: `the ${message}` };
}
