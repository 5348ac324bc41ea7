import type { SandboxFilter } from '@vivarium/edge/edge.ts';
import { LISTED_KINDS, type Sandbox } from '@vivarium/protocol';
import { E2bListQuery, E2bListQueryV1 } from '@vivarium/protocol/e2b/control.ts';
import { Answer, sendJson } from '../../http/answer.ts';
import { type ControlCall, type ControlRoute, route } from './control-call.ts';
import { metadataFilters } from './metadata-filter.ts';
import { factsOf, listView } from './sandbox-view.ts';

const STATES = { running: ['running', 'resuming'], paused: ['paused', 'pausing'] } as const;
/** Version 1 has no pages: what it lists at most. */
const V1_MAX = 10_000;

export const sandboxListRoutes: ControlRoute[] = [
  route('GET /v2/sandboxes', {
    status: 200,
    query: E2bListQuery,
    run: (call) => {
      const { limit, nextToken } = call.query;
      const { items, next } = pageOf(call, call.query, limit, nextToken);
      const shown = items.map((one) => listView(call.context, one));
      return new Answer((res) => sendJson(res, 200, shown, next === null ? {} : { 'x-next-token': next }));
    },
  }),
  route('GET /sandboxes', {
    status: 200,
    query: E2bListQueryV1,
    run: (call) => {
      const query = { ...call.query, state: call.query.state ?? ['running' as const], order: 'desc' as const };
      const found: Sandbox[] = [];
      for (let next: string | null | undefined; next !== null && found.length < V1_MAX; ) {
        const page = pageOf(call, query, 1000, next);
        found.push(...page.items);
        next = page.next;
      }
      return found.map((one) => listView(call.context, one));
    },
  }),
];

type Asked = Omit<E2bListQuery, 'limit' | 'nextToken'>;

function pageOf(call: ControlCall, query: Asked, limit: number, cursor: string | undefined) {
  const { context, edge } = call;
  const filter = filterOf(call, query);
  if (filter === undefined) return { items: [], next: null };
  const page = edge.sandboxes.list(filter, { limit, cursor });
  const { template } = query;
  const items = template === undefined ? page.items : page.items.filter((one) => isOf(factsOf(context, one), template));
  return { items, next: page.nextCursor };
}

/** Undefined: nothing can match. */
function filterOf({ context, edge }: ControlCall, query: Asked): SandboxFilter | undefined {
  const { state, template, startedAfter, order, metadata } = query;
  const filter: SandboxFilter = {
    states: (state?.length ? state : (['running', 'paused'] as const)).flatMap((one) => STATES[one]),
    order,
    kinds: LISTED_KINDS,
    ...(startedAfter !== undefined && { startedAfterMs: Date.parse(startedAfter) }),
  };
  if (template !== undefined) {
    const images = [...context.store.sandboxes.imagesOf(template), template];
    filter.images = images;
  }
  if (metadata === undefined) return filter;
  // Newer clients encode names and values once, older ones twice: the reading that finds something is the right one.
  const readings = metadataFilters(metadata);
  const wanted = readings.find(
    (one) => edge.sandboxes.list({ ...filter, metadata: one }, { limit: 1 }).items.length > 0,
  );
  return { ...filter, metadata: wanted ?? readings[0]! };
}

function isOf({ templateID, alias }: { templateID: string; alias: string | null }, template: string): boolean {
  return templateID === template || alias === template;
}
