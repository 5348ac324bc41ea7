import type { Vivarium } from '@vivarium/sdk';
import { Sandbox } from 'e2b';
import { E2B_BASE } from '../../scripts/demo/template-images.ts';
import type { E2bClient } from '../../test/harness/e2b.ts';
import { quantile, timed } from '../node/samples.ts';

const MIB = 64;
const ROUNDS = 5;
const COMMAND = `yes 0123456789abcdefghijklmnopqrstuvwxyz | head -c ${MIB}M`;

/** What one command prints, until the client has all of it as text. The peer is the native client. */
export async function sdkStdout({ connection }: E2bClient, viv: Vivarium): Promise<Record<string, number>> {
  const sandbox = await Sandbox.create('base', connection);
  const e2b = await speeds(async () => {
    let bytes = 0;
    const onStdout = (text: string) => {
      bytes += text.length;
    };
    await sandbox.commands.run(COMMAND, { onStdout, timeoutMs: 0 });
    return bytes;
  });
  await sandbox.kill();
  const peer = await viv.sandboxes.create({ image: E2B_BASE });
  const native = await speeds(async () => {
    const process = await peer.spawn(['/bin/bash', '-l', '-c', COMMAND], { user: 'user' });
    let bytes = 0;
    for await (const chunk of process.stdout) bytes += chunk.length;
    return bytes;
  });
  await peer.kill();
  return { sdk_stdout_mib_s: e2b, sdk_stdout_ratio: e2b / native };
}

/** The median of some rounds, in MiB/s. */
async function speeds(job: () => Promise<number>): Promise<number> {
  const taken: number[] = [];
  for (let n = 0; n < ROUNDS; n += 1) {
    const { ms, value } = await timed(job);
    if (value !== MIB << 20) throw new Error(`${value} bytes of ${MIB} MiB came`);
    taken.push(MIB / (ms / 1000));
  }
  return quantile(taken, 0.5);
}
