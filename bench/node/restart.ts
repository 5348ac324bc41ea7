import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { inFlight } from './samples.ts';
import { type ExecAnswer, mustExit, type Testbed } from './testbed.ts';

const LINES = 400;

/** kill -9 of the server with sandboxes live and commands writing steadily; every outcome and output digest must be right afterwards. */
export async function restart(bed: Testbed, live = 500, writers = 50): Promise<Record<string, number>> {
  const ids: string[] = [];
  await inFlight(live, 16, async () => void ids.push((await bed.http.create(bed.image)).id));
  const execs: { sandbox: string; exec: string; code: number; sha256: string }[] = [];
  await inFlight(writers, 16, async (i) => {
    const script = `i=0; while [ $i -lt ${LINES} ]; do echo "writer ${i} line $i"; i=$((i+1)); sleep 0.05; done; exit ${i % 7}`;
    const { id } = await bed.http.exec(ids[i]!, ['sh', '-c', script], { detach: true });
    const text = Array.from({ length: LINES }, (_, line) => `writer ${i} line ${line}\n`).join('');
    execs.push({ sandbox: ids[i]!, exec: id, code: i % 7, sha256: createHash('sha256').update(text).digest('hex') });
  });
  await sleep(2000);
  process.kill(bed.serverPid(), 'SIGKILL');
  await sleep(500);
  await bed.start();
  let adopted = 0;
  await inFlight(live, 16, async (i) => {
    const sandbox = await bed.http
      .call<{ state: string }>('GET', `/v1/sandboxes/${ids[i]!}`)
      .catch(() => ({ state: 'unknown' }));
    if (sandbox.state !== 'running') return;
    mustExit(await bed.http.exec(ids[i]!, ['true']));
    adopted++;
  });
  let right = 0;
  await inFlight(execs.length, 8, async (i) => {
    const { sandbox, exec, code, sha256 } = execs[i]!;
    const result = await bed.http
      .call<ExecAnswer>('GET', `/v1/sandboxes/${sandbox}/execs/${exec}/result?waitMs=120000`)
      .catch(() => null);
    if (result?.outcome?.type === 'exited' && result.exitCode === code && result.stdout.sha256 === sha256) right++;
  });
  await inFlight(live, 16, async (i) => void (await bed.http.kill(ids[i]!).catch(() => {})));
  return { restart_adopted: adopted, restart_execs: right };
}
