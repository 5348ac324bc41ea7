import { inFlight, quantile, timed } from './samples.ts';
import { mustExit, type Testbed } from './testbed.ts';

/** HTTP create → result of `true`, one at a time; then 50 creates in flight. */
export async function createLatency(bed: Testbed, runs = 300): Promise<Record<string, number>> {
  const single: number[] = [];
  for (let i = 0; i < runs; i++) {
    const { ms, value } = await timed(async () => {
      const { id } = await bed.http.create(bed.image);
      mustExit(await bed.http.exec(id, ['true']));
      return id;
    });
    single.push(ms);
    await bed.http.kill(value);
  }
  const burst: number[] = [];
  const ids: string[] = [];
  await inFlight(200, 50, async () => {
    const { ms, value } = await timed(() => bed.http.create(bed.image));
    burst.push(ms);
    ids.push(value.id);
  });
  await inFlight(ids.length, 16, async (i) => void (await bed.http.kill(ids[i]!)));
  return {
    create_to_first_exec_ms_p50: quantile(single, 0.5),
    create_to_first_exec_ms_p99: quantile(single, 0.99),
    create_p99_ms_at_50: quantile(burst, 0.99),
  };
}

/** HTTP exec of `true` over keep-alive with 500 other sandboxes live. */
export async function execLatency(bed: Testbed, runs = 2000, others = 500): Promise<Record<string, number>> {
  const ids: string[] = [];
  await inFlight(others, 16, async () => void ids.push((await bed.http.create(bed.image)).id));
  const { id } = await bed.http.create(bed.image);
  const samples: number[] = [];
  for (let i = 0; i < runs; i++) {
    const { ms, value } = await timed(() => bed.http.exec(id, ['true']));
    mustExit(value);
    samples.push(ms);
  }
  await inFlight(ids.length, 16, async (i) => void (await bed.http.kill(ids[i]!)));
  await bed.http.kill(id);
  return { exec_ms_p50: quantile(samples, 0.5), exec_ms_p99: quantile(samples, 0.99) };
}

/** create + exec + destroy, 16 at a time. */
export async function churn(bed: Testbed, count = 2000): Promise<Record<string, number>> {
  const { ms } = await timed(() =>
    inFlight(count, 16, async () => {
      const { id } = await bed.http.create(bed.image);
      mustExit(await bed.http.exec(id, ['true']));
      await bed.http.kill(id);
    }),
  );
  return { churn_per_s: (count * 1000) / ms };
}
