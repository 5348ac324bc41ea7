import type { Vivarium } from '@vivarium/sdk';
import { Sandbox } from 'e2b';
import { E2B_BASE } from '../../scripts/demo/template-images.ts';
import type { E2bClient } from '../../test/harness/e2b.ts';
import { quantile, timed } from '../node/samples.ts';

const RUNS = 200;

/**
 * `Sandbox.create` and `commands.run('echo')`, one at a time. The peer is the same by the native client on the same node: what is
 * above 1 in the ratios is the cost of E2B's protocol and client. (E2B starts a login shell for each command; so does the peer.)
 */
export async function sdkLatency({ connection }: E2bClient, viv: Vivarium): Promise<Record<string, number>> {
  const create = await samples(
    async () => await Sandbox.create('base', connection),
    (sandbox) => sandbox.kill(),
  );
  const native = await samples(
    async () => await viv.sandboxes.create({ image: E2B_BASE }),
    (sandbox) => sandbox.kill(),
  );
  const sandbox = await Sandbox.create('base', connection);
  const run = await samples(
    () => sandbox.commands.run('echo ready'),
    async ({ stdout }) => mustBe(stdout, 'ready\n'),
  );
  await sandbox.kill();
  const peer = await viv.sandboxes.create({ image: E2B_BASE });
  const argv = ['/bin/bash', '-l', '-c', 'echo ready'];
  const exec = await samples(
    () => peer.exec(argv, { user: 'user' }),
    async ({ stdout }) => mustBe(stdout, 'ready\n'),
  );
  await peer.kill();
  return {
    sdk_create_ms_p50: create.p50,
    sdk_create_ms_p99: create.p99,
    sdk_create_ratio: create.p50 / native.p50,
    sdk_run_ms_p50: run.p50,
    sdk_run_ms_p99: run.p99,
    sdk_run_ratio: run.p50 / exec.p50,
  };
}

/** What comes after a sample is not measured. */
async function samples<T>(job: () => Promise<T>, after: (value: T) => Promise<unknown>) {
  const taken: number[] = [];
  await after(await job());
  for (let n = 0; n < RUNS; n += 1) {
    const { ms, value } = await timed(job);
    taken.push(ms);
    await after(value);
  }
  return { p50: quantile(taken, 0.5), p99: quantile(taken, 0.99) };
}

function mustBe(actual: string, expected: string): void {
  if (actual !== expected) throw new Error(`it printed ${JSON.stringify(actual)}`);
}
