import { z } from '@hono/zod-openapi';
import { NodeInfo } from '../node.ts';
import { Usage } from '../usage.ts';
import { routes } from './route.ts';

const tag = 'node';

export const NODE_ROUTES = routes({
  'node.get': {
    method: 'GET',
    path: '/v1/node',
    tag,
    scope: 'any',
    summary: 'The node and what it can do',
    status: 200,
    result: NodeInfo,
    errors: [],
  },
  'node.usage': {
    method: 'GET',
    path: '/v1/usage',
    tag,
    scope: 'any',
    summary: 'The key’s rights and what the node holds',
    status: 200,
    result: Usage,
    errors: [],
  },
  'node.health': {
    method: 'GET',
    path: '/healthz',
    tag,
    scope: 'public',
    summary: 'Is the server up?',
    status: 200,
    result: z.object({ status: z.literal('ok') }),
    errors: ['shutting_down'],
  },
  'node.metrics': {
    method: 'GET',
    path: '/metrics',
    tag,
    scope: 'public',
    summary: 'Prometheus metrics',
    description: 'From loopback (and not through a proxy) without a key; else any key.',
    status: 200,
    media: 'text/plain',
    errors: [],
  },
  'node.openapi': {
    method: 'GET',
    path: '/openapi.json',
    tag,
    scope: 'public',
    summary: 'This description',
    status: 200,
    result: z.record(z.string(), z.unknown()),
    errors: [],
  },
});
