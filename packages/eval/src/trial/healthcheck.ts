import { setTimeout as sleep } from 'node:timers/promises';
import { describe, type ExecResult, type Sandbox, VivError } from '@vivarium/sdk';
import type { Healthcheck } from '../task/index.ts';

/**
 * Waits until the task's environment says that it is ready, as Docker's HEALTHCHECK does: failures within the start period
 * don't count; after it `retries` in a row end the wait. Throws `command_failed` (fault task) with the last output.
 */
export async function awaitHealthy(
  sandbox: Sandbox,
  check: Healthcheck,
  options: { cwd: string; env: Record<string, string>; signal: AbortSignal },
): Promise<void> {
  const started = Date.now();
  for (let failures = 0; ; ) {
    const inStart = Date.now() - started < check.startPeriodMs;
    const done = await sandbox.exec(['bash', '-c', check.command], {
      ...options,
      timeoutMs: Math.max(1, check.timeoutMs),
      keepBytes: 65_536,
      label: 'healthcheck',
    });
    if (done.ok) return;
    if (!inStart && ++failures >= Math.max(1, check.retries)) throw unhealthy(check, done);
    await sleep(inStart ? check.startIntervalMs : check.intervalMs, undefined, { signal: options.signal });
  }
}

function unhealthy(check: Healthcheck, done: ExecResult): VivError {
  const output = `${done.stdout}${done.stderr}`.trim().slice(-500);
  return new VivError(
    'command_failed',
    `the task's environment did not become healthy: \`${check.command}\` ${describe(done.outcome)}${output ? `: ${output}` : ''}`,
    { fault: 'task', hint: 'environment.healthcheck in task.toml says how long it may take.' },
  );
}
