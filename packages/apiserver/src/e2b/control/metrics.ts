import type { Edge } from '@vivarium/edge/edge.ts';
import type { Sandbox, Stats } from '@vivarium/protocol';
import { E2bManyMetricsQuery, E2bMetricsQuery } from '@vivarium/protocol/e2b/control.ts';
import { sandboxId } from '../routing.ts';
import { type ControlRoute, route } from './control-call.ts';
import { live } from './live.ts';
import { cpuCount } from './sandbox-view.ts';

/** A sample before the window tells how much CPU the first one in it used. */
const BEFORE_MS = 60_000;
const MANY_MAX = 100;

export const metricsRoutes: ControlRoute[] = [
  route('GET /sandboxes/{sandboxID}/metrics', {
    status: 200,
    query: E2bMetricsQuery,
    run: ({ edge, params, query }) => {
      const sandbox = live(edge, params.sandboxID!);
      return history(edge, sandbox, (query.start ?? 0) * 1000, query.end === undefined ? Date.now() : query.end * 1000);
    },
  }),
  route('GET /sandboxes/metrics', {
    status: 200,
    query: E2bManyMetricsQuery,
    run: async ({ edge, query }) => {
      const ids = [...new Set(query.sandbox_ids.split(',').map((id) => sandboxId(id.trim())))].slice(0, MANY_MAX);
      const sandboxes: Record<string, object> = {};
      for (const id of ids) {
        const sandbox = found(edge, id);
        const last = sandbox && (await history(edge, sandbox, Date.now() - BEFORE_MS, Date.now())).at(-1);
        if (last) sandboxes[id] = last;
      }
      return { sandboxes };
    },
  }),
];

/** Samples between two times, oldest first. A sandbox so young that none was taken yet is measured now. */
async function history(edge: Edge, sandbox: Sandbox, fromMs: number, toMs: number): Promise<object[]> {
  const samples = await edge.sandboxes.statsHistory(sandbox.id, Math.max(0, fromMs - BEFORE_MS), toMs);
  // Whole seconds are asked for.
  const within = ({ at }: Stats) => Date.parse(at) >= Math.floor(fromMs / 1000) * 1000;
  const views = samples.flatMap((one, i) => (within(one) ? [view(sandbox, one, samples[i - 1])] : []));
  const now = Date.now();
  if (views.length > 0 || now < fromMs || now > toMs + 1000 || sandbox.state !== 'running') return views;
  return [view(sandbox, await edge.sandboxes.stats(sandbox.id), samples.at(-1))];
}

function view(sandbox: Sandbox, now: Stats, before: Stats | undefined): object {
  const cpus = cpuCount(sandbox);
  const sinceMs = Date.parse(now.at) - Date.parse(before?.at ?? sandbox.startedAt ?? sandbox.createdAt);
  const usedMs = Math.max(0, now.cpuUsageUs - (before?.cpuUsageUs ?? 0)) / 1000;
  const pct = sinceMs > 0 ? Math.min(100, (usedMs / (sinceMs * cpus)) * 100) : 0;
  return {
    timestamp: now.at,
    timestampUnix: Math.floor(Date.parse(now.at) / 1000),
    cpuCount: cpus,
    cpuUsedPct: Math.round(pct * 100) / 100,
    memUsed: now.memoryBytes,
    memTotal: now.memoryLimitBytes,
    memCache: now.memoryCacheBytes,
    diskUsed: now.diskBytes,
    diskTotal: now.diskLimitBytes,
  };
}

function found(edge: Edge, id: string): Sandbox | undefined {
  try {
    return live(edge, id);
  } catch {
    return undefined;
  }
}
