import { VivError } from '@vivarium/protocol';
import { ndjson } from './answer.ts';
import type { Handlers } from './call.ts';

/**
 * A client that left before it had the answer to a create can't know the sandbox: it is ended again. With an idempotency key the client
 * may come back for it, so it stays (for its TTL).
 */
export const sandboxHandlers: Handlers<'sandbox'> = {
  'sandbox.create': async (call) => {
    const { edge, body, owner, idempotency } = call;
    // Looked at now, so that it is aborted when the client leaves.
    const { signal } = call;
    const sandbox = await edge.sandboxes.create(body, owner, idempotency);
    if (signal.aborted && !idempotency) await edge.sandboxes.kill(sandbox.id);
    return { ...sandbox, token: edge.sandboxes.token(sandbox.id) };
  },
  'sandbox.list': ({ edge, query }) => {
    const filter = {
      labels: labelsOf(query.label),
      metadata: metadataOf(query.metadata),
      states: query.state,
      images: query.image,
      kinds: query.kind,
      order: query.order,
      ...(query.lease !== undefined && { lease: query.lease }),
      ...(query.startedAfter !== undefined && { startedAfterMs: Date.parse(query.startedAfter) }),
    };
    return edge.sandboxes.list(filter, { limit: query.limit, cursor: query.cursor });
  },
  'sandbox.get': ({ edge, params }) => ({ ...edge.sandboxes.get(params.id), token: edge.sandboxes.token(params.id) }),
  'sandbox.update': ({ edge, params, body }) => edge.sandboxes.update(params.id, body),
  'sandbox.kill': ({ edge, params }) => edge.sandboxes.kill(params.id),
  'sandbox.pause': ({ edge, params, body }) => edge.sandboxes.pause(params.id, body),
  'sandbox.resume': ({ edge, params }) => edge.sandboxes.resume(params.id),
  'sandbox.mount': ({ edge, params, body }) => edge.sandboxes.mount(params.id, body) as Promise<undefined>,
  'sandbox.unmount': ({ edge, params, query }) => edge.sandboxes.unmount(params.id, query.at) as Promise<undefined>,
  'sandbox.sweep': ({ edge, params, body }) => edge.sandboxes.sweep(params.id, body.keepLabels),
  'sandbox.wait': ({ edge, params, query }) => edge.sandboxes.wait(params.id, query.state, query.waitMs),
  'sandbox.stats': ({ edge, params }) => edge.sandboxes.stats(params.id),
  'sandbox.statsHistory': async ({ edge, params, query }) => {
    const fromMs = query.from === undefined ? 0 : Date.parse(query.from);
    const toMs = query.to === undefined ? Number.MAX_SAFE_INTEGER : Date.parse(query.to);
    return { items: await edge.sandboxes.statsHistory(params.id, fromMs, toMs) };
  },
  'sandbox.processes': async ({ edge, params }) => ({ items: await edge.sandboxes.processes(params.id) }),
  'sandbox.changes': ({ edge, params }) => ndjson(edge.sandboxes.changes(params.id)),
  'sandbox.fork': async ({ edge, params, body, owner, idempotency }) => ({
    items: await edge.sandboxes.fork(params.id, body, owner, idempotency),
  }),
  'sandbox.snapshot': ({ edge, params, body }) => edge.sandboxes.snapshot(params.id, body.image, body.labels),
  'sandbox.pack': ({ edge, params, body, owner, idempotency }) =>
    edge.sandboxes.pack(params.id, body, owner, idempotency),
  'sandbox.logs': async ({ edge, params, query }) => {
    const items = await edge.sandboxes.logs(params.id, query.after, query.limit);
    return { items, nextAfter: items.length === query.limit ? items.at(-1)!.seq : null };
  },
};

function labelsOf(filters: string[]): Record<string, string> {
  const labels: Record<string, string> = Object.create(null);
  for (const filter of filters) {
    const mark = filter.indexOf('=');
    const name = filter.slice(0, mark);
    if (Object.hasOwn(labels, name))
      throw new VivError('invalid_argument', `the label "${name}" is asked for twice`, { details: { field: 'label' } });
    labels[name] = filter.slice(mark + 1);
  }
  return labels;
}

function metadataOf(query: string | undefined): Record<string, string> {
  const metadata: Record<string, string> = Object.create(null);
  for (const [name, value] of new URLSearchParams(query)) {
    if (Object.hasOwn(metadata, name))
      throw new VivError('invalid_argument', `the metadata "${name}" is asked for twice`, {
        details: { field: 'metadata' },
      });
    metadata[name] = value;
  }
  return metadata;
}
