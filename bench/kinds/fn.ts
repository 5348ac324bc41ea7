import { inFlight, quantile, timed } from '../node/samples.ts';
import type { Testbed } from '../node/testbed.ts';

const AT_ONCE = 16;
/** Between two calls of somebody who waits for each: the used container is clean again by then. */
const PAUSE_MS = 20;

type Answer = { exitCode: number; cold: boolean; stdoutB64: string; sandbox: string };

/** Calls over HTTP to a warm pool: one at a time, then 16 at a time, each in a clean container. */
export async function fnCalls(bed: Testbed): Promise<Record<string, number>> {
  const call = async (body: Record<string, unknown>) => {
    const answer = await bed.http.call<Answer>('POST', '/v1/fn', { image: bed.image, ...body });
    if (answer.exitCode !== 0) throw new Error(`exit ${answer.exitCode}`);
    return answer;
  };
  const one = async (count: number, body: Record<string, unknown>, output: string) => {
    const samples: number[] = [];
    for (let i = 0; i < count; i++) {
      const { ms, value } = await timed(() => call(body));
      if (Buffer.from(value.stdoutB64, 'base64').toString() !== output) throw new Error(`output ${value.stdoutB64}`);
      if (value.cold) throw new Error('a call to a warm pool was cold');
      samples.push(ms);
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
    }
    return samples;
  };
  await bed.http.call('POST', '/v1/fn/warm', { image: bed.image, count: 4 });
  await one(20, { argv: ['true'] }, '');
  const single = await one(300, { argv: ['true'] }, '');
  await one(5, { language: 'python', code: 'print(1)' }, '1\n');
  const python = await one(60, { language: 'python', code: 'print(1)' }, '1\n');
  // The pool grows to what 16 at a time need.
  await inFlight(200, AT_ONCE, async () => void (await call({ argv: ['true'] })));
  const count = 1000;
  const { ms } = await timed(() => inFlight(count, AT_ONCE, async () => void (await call({ argv: ['true'] }))));
  return {
    fn_call_ms_p50: quantile(single, 0.5),
    fn_call_ms_p99: quantile(single, 0.99),
    fn_calls_per_s: (count * 1000) / ms,
    fn_python_ms_p50: quantile(python, 0.5),
  };
}
