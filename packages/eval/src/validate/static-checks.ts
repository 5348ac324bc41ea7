import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Task } from '../task/task.ts';
import { readTree } from '../task/tree.ts';
import { type AnswerFile, answerFiles, answersInEnvironment } from './answer-files.ts';
import type { Finding } from './finding.ts';
import { findInstalls } from './install-scan.ts';

const TESTS = /^(?:steps\/[^/]+\/)?tests\//;
const TEXT_BYTES_MAX = 2 ** 20;

export type StaticChecks = { findings: Finding[]; answers: AnswerFile[] };

/** What the files of a task tell without running anything. */
export async function checkStatically(task: Task): Promise<StaticChecks> {
  const answers = await answerFiles(task);
  const tests = await testTexts(task);
  const findings: Finding[] = [
    ...task.warnings.map(
      ({ file, field, message }): Finding => ({
        severity: 'warning',
        rule: 'format',
        file,
        message: field === null ? message : `${field} ${message}`,
      }),
    ),
    ...oracleFindings(task),
    ...timeFindings(task),
    ...installFindings(tests),
    ...rewardFindings(task, tests),
  ];
  for (const { file, answer } of await answersInEnvironment(task, answers)) {
    const severity = answer.kind === 'solution' ? 'error' : 'warning';
    findings.push({ severity, rule: 'answer_in_environment', file, message: `is the same as ${answer.path}` });
  }
  return { findings, answers };
}

function oracleFindings(task: Task): Finding[] {
  const missing =
    task.steps.length === 0 ? task.solution === null : task.steps.some(({ solution }) => solution === null);
  if (!missing) return [];
  const message = 'there is no solution/solve.sh: nothing shows that the task can be solved';
  return [{ severity: 'warning', rule: 'no_oracle', message }];
}

function timeFindings(task: Task): Finding[] {
  const phases = task.steps.length === 0 ? [task.config.agent] : task.steps.map(({ agent }) => agent);
  if (phases.every(({ timeoutMs }) => timeoutMs !== null)) return [];
  const message = 'agent.timeout_sec is not set: an agent that hangs is ended only by the sandbox’s own limit';
  return [{ severity: 'note', rule: 'no_agent_timeout', file: 'task.toml', message }];
}

function installFindings(tests: readonly Source[]): Finding[] {
  return tests
    .filter(({ isShell }) => isShell)
    .flatMap(({ file, text }) =>
      findInstalls(text).map(
        ({ line, text: found }): Finding => ({
          severity: 'warning',
          rule: 'installs_at_grade_time',
          file,
          line,
          message: `fetches or installs when it grades, and has no network: \`${found}\`. Put it into the image.`,
        }),
      ),
    );
}

/** A verifier whose image holds the script can't be looked into. */
function rewardFindings(task: Task, tests: readonly Source[]): Finding[] {
  if (task.separate !== null || tests.some(({ text }) => /reward\.(txt|json)|\/logs\/verifier|VERIFIER/i.test(text)))
    return [];
  const message =
    'nothing in it writes /logs/verifier/reward.txt or reward.json: every trial would be a verifier_error';
  return [{ severity: 'warning', rule: 'no_reward_written', file: 'tests', message }];
}

type Source = { file: string; text: string; isShell: boolean };

async function testTexts(task: Task): Promise<Source[]> {
  const sources: Source[] = [];
  for (const { path, type, bytes } of await readTree(task.dir)) {
    if (type !== 'file' || !TESTS.test(path) || bytes > TEXT_BYTES_MAX) continue;
    const text = await readFile(join(task.dir, path), 'utf8');
    if (text.includes('\0')) continue;
    sources.push({ file: path, text, isShell: path.endsWith('.sh') || /^#!.*\b(ba|da)?sh\b/.test(text) });
  }
  return sources;
}
