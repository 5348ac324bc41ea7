import type { Handlers } from './call.ts';

export const leaseHandlers: Handlers<'lease'> = {
  'lease.create': ({ edge, body, owner }) => edge.leases.create(body, owner),
  'lease.list': ({ edge, query }) => {
    if (query.label === undefined) return edge.leases.list({ limit: query.limit, cursor: query.cursor });
    const lease = edge.leases.find(query.label);
    return { items: lease ? [lease] : [], nextCursor: null };
  },
  'lease.get': ({ edge, params }) => edge.leases.get(params.id),
  'lease.renew': ({ edge, params }) => edge.leases.renew(params.id),
  'lease.end': ({ edge, params }) => edge.leases.end(params.id) as Promise<undefined>,
};
