import type { Handlers } from './call.ts';

export const keyHandlers: Handlers<'key'> = {
  'key.create': ({ keys, body }) => keys.create(body),
  'key.list': ({ keys }) => ({ items: keys.list(), nextCursor: null }),
  'key.remove': ({ keys, params }) => keys.remove(params.id) as undefined,
};
