import { PageQuery, page } from '../id.ts';
import { Key, KeyCreate } from '../key.ts';
import { routes } from './route.ts';

const scope = ['admin'] as const;
const tag = 'keys';

export const KEY_ROUTES = routes({
  'key.create': {
    method: 'POST',
    path: '/v1/keys',
    tag,
    scope,
    summary: 'Make an API key',
    description: 'The only answer that holds the secret.',
    body: KeyCreate,
    status: 200,
    result: Key,
    errors: [],
  },
  'key.list': {
    method: 'GET',
    path: '/v1/keys',
    tag,
    scope,
    summary: 'List API keys',
    query: PageQuery,
    status: 200,
    result: page(Key),
    errors: [],
  },
  'key.remove': {
    method: 'DELETE',
    path: '/v1/keys/{id}',
    tag,
    scope,
    summary: 'Revoke an API key',
    status: 204,
    errors: ['key_not_found'],
  },
});
