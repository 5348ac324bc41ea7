import type { Sandbox } from '@vivarium/sdk';
import { modelReach } from '../agent/model.ts';
import { resolveEnv } from '../task/env.ts';
import type { Task } from '../task/index.ts';
import type { TrialContext } from './context.ts';
import { FileTree } from './file-tree.ts';
import { awaitHealthy } from './healthcheck.ts';
import { startServices } from './services.ts';
import { limitsFor, ttlS } from './settings.ts';
import type { TrialStep } from './steps.ts';

/** What an agent's sandbox is made of. */
export type BoxSpec = { task: Task; step: TrialStep; image: string; labels: Record<string, string>; workdir: string };

const SETUP_TIMEOUT_MS = 600_000;
const LOG_DIRECTORIES = ['agent', 'verifier', 'artifacts'];

/** The agent's sandbox, with the task's services and all that the first step brings, healthy. One that can't be is ended before this throws. */
export async function startBox(context: TrialContext, spec: BoxSpec): Promise<Sandbox> {
  const { lease, job, agent, signal, hostEnv } = context;
  const { task, step, image, labels, workdir } = spec;
  const { config } = task.environment;
  const reach = modelReach(job, hostEnv);
  const sandbox = await lease.create(
    {
      image,
      labels: { ...labels, 'viv.role': 'agent' },
      limits: limitsFor(config, job),
      env: resolveEnv(config.env, hostEnv, 'environment.env'),
      ttlS: ttlS(task, job),
      ...(reach && { reach: [reach] }),
    },
    { signal },
  );
  try {
    const tree = new FileTree();
    await agent.prepare(step, tree);
    const { services } = task.config.vivarium;
    const options = { cwd: workdir, env: {}, checked: step.healthcheck !== null, signal };
    await startServices(sandbox, services, options, (until) =>
      setUp({ ...context, signal: until }, sandbox, { step, tree, workdir }),
    );
    return sandbox;
  } catch (error) {
    await sandbox.kill().catch(() => {});
    throw error;
  }
}

/** Between two steps: the logs of the step before are on this machine; the next one finds them empty. */
export async function nextStep(
  context: TrialContext,
  sandbox: Sandbox,
  step: TrialStep,
  workdir: string,
): Promise<void> {
  const { agent, signal } = context;
  const gone = [...LOG_DIRECTORIES.map((name) => `/logs/${name}`), '/solution'];
  for (const path of gone) await sandbox.files.remove(path, { recursive: true, missingOk: true, user: 'root', signal });
  const tree = new FileTree();
  for (const name of LOG_DIRECTORIES) tree.addDirectory(`logs/${name}`, 0o777);
  tree.addFile('logs/agent/instruction.md', step.instruction);
  await agent.prepare(step, tree);
  await setUp(context, sandbox, { step, tree, workdir });
}

/** Uploads what the step brings, runs its set-up, waits for health. */
async function setUp(
  context: TrialContext,
  sandbox: Sandbox,
  { step, tree, workdir }: { step: TrialStep; tree: FileTree; workdir: string },
): Promise<void> {
  const { signal } = context;
  if (step.workdir !== null) await tree.addTree(workdir, step.workdir);
  if (!tree.isEmpty) await sandbox.files.upload('/', tree.tar(), { user: 'root', signal });
  if (step.hasSetup) {
    const options = { cwd: workdir, timeoutMs: SETUP_TIMEOUT_MS, label: 'setup', signal };
    (await sandbox.exec(['bash', '-c', './setup.sh'], options)).check();
  }
  if (step.healthcheck) await awaitHealthy(sandbox, step.healthcheck, { cwd: workdir, env: {}, signal });
}
