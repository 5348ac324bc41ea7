import { setTimeout as sleep } from 'node:timers/promises';
import { describe, type Exec, type Process, type Sandbox, VivError } from '@vivarium/sdk';
import { SERVICE_LABEL } from '@vivarium/sdk/verify/in-place.ts';
import type { Service } from '../task/index.ts';

/** Without a health check nobody else says that they are there: one that ends within this time has failed. */
const SETTLE_MS = 250;
const KEEP_BYTES = 1024 * 1024;
const OUTPUT_TOLD_CHARS = 1000;

export type ServiceOptions = {
  cwd: string;
  /** Beside what the sandbox sets for every command. */
  env: Record<string, string>;
  /** Will `ready` wait until they answer? */
  checked: boolean;
  signal: AbortSignal;
};

/**
 * Starts a task's services, in order, and watches them while `ready` goes on: set-up and health check. They run on afterwards, under the
 * label that a sweep spares; their output is in the journal. Throws `command_failed` (fault task) with the end of its output as soon as
 * one has ended, however it ended: what it left in the background would not be a service.
 */
export async function startServices(
  sandbox: Sandbox,
  services: readonly Service[],
  options: ServiceOptions,
  ready: (signal: AbortSignal) => Promise<void>,
): Promise<void> {
  if (services.length === 0) return ready(options.signal);
  const { cwd, env, checked } = options;
  const stop = new AbortController();
  const signal = AbortSignal.any([options.signal, stop.signal]);
  const watches: Process[] = [];
  const ended: Promise<never>[] = [];
  try {
    for (const service of services) {
      const { command, user } = service;
      const spawn = { cwd, env, keepBytes: KEEP_BYTES, label: SERVICE_LABEL, signal, ...(user !== null && { user }) };
      const exec = await sandbox.start(['bash', '-c', command], spawn);
      const watch = await sandbox.attach(exec.id, { signal });
      watches.push(watch);
      const end = failWhenEnded(sandbox, service, watch);
      // It may end before all have started and anybody waits for it.
      end.catch(() => {});
      ended.push(end);
    }
    const started = Promise.all([ready(signal), checked ? null : sleep(SETTLE_MS, undefined, { signal })]);
    await Promise.race([started, ...ended]);
  } finally {
    stop.abort();
    for (const watch of watches) watch.detach();
  }
}

/** Never resolves: it rejects when the service has ended. That nobody watches any more says nothing of the service. */
async function failWhenEnded(sandbox: Sandbox, service: Service, watch: Process): Promise<never> {
  const exec = await watch.wait().catch(() => null);
  if (exec === null) return new Promise(() => {});
  throw await failure(sandbox, service, exec);
}

async function failure(
  sandbox: Sandbox,
  { name, command }: Service,
  { id, outcome, message }: Exec,
): Promise<VivError> {
  if (outcome === null || outcome.type === 'sandbox_lost')
    return new VivError('sandbox_lost', `the sandbox ${sandbox.id} was lost while its services started`);
  const done = await sandbox
    .attach(id)
    .then((process) => process.result())
    .catch(() => null);
  const output = `${done?.stdout ?? ''}${done?.stderr ?? ''}`.trim().slice(-OUTPUT_TOLD_CHARS);
  const why = [message, output].filter((part) => part).join(': ');
  return new VivError(
    'command_failed',
    `the service ${name} did not stay: \`${command.slice(0, 200)}\` ${describe(outcome)}${why ? `: ${why}` : ''}`,
    { fault: 'task', hint: 'A service is a command that stays in the foreground until the sandbox ends.' },
  );
}

/** What of the services is not there any more when the tests begin: the agent ended it, or it ended by itself. */
export async function endedServices(sandbox: Sandbox): Promise<string[]> {
  const gone: string[] = [];
  for await (const { label, outcome, argv } of sandbox.execs())
    if (label === SERVICE_LABEL && outcome) gone.push(`\`${argv.at(-1)?.slice(0, 100)}\` ${describe(outcome)}`);
  return gone;
}
