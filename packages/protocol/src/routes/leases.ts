import { z } from '@hono/zod-openapi';
import { PageQuery, page } from '../id.ts';
import { Lease, LeaseCreate } from '../lease.ts';
import { routes } from './route.ts';

export const LeaseListQuery = PageQuery.extend({
  label: z.string().max(200).optional().describe('only the live lease with this label'),
});

const scope = ['sandboxes'] as const;
const tag = 'leases';

export const LEASE_ROUTES = routes({
  'lease.create': {
    method: 'POST',
    path: '/v1/leases',
    tag,
    scope,
    summary: 'Make a lease',
    body: LeaseCreate,
    status: 200,
    result: Lease,
    errors: ['state_conflict'],
  },
  'lease.list': {
    method: 'GET',
    path: '/v1/leases',
    tag,
    scope,
    summary: 'List leases',
    query: LeaseListQuery,
    status: 200,
    result: page(Lease),
    errors: [],
  },
  'lease.get': {
    method: 'GET',
    path: '/v1/leases/{id}',
    tag,
    scope,
    summary: 'Inspect a lease',
    status: 200,
    result: Lease,
    errors: ['lease_not_found'],
  },
  'lease.renew': {
    method: 'POST',
    path: '/v1/leases/{id}/renew',
    tag,
    scope,
    summary: 'Start its grace time again',
    status: 200,
    result: Lease,
    errors: ['lease_not_found'],
  },
  'lease.end': {
    method: 'DELETE',
    path: '/v1/leases/{id}',
    tag,
    scope,
    summary: 'End a lease and what it owns',
    status: 204,
    errors: ['lease_not_found'],
  },
});
