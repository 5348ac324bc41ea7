import type { FnPool as EdgePool, FnSession as EdgeSession } from '@vivarium/edge/edge.ts';
import type { FnPool, FnSession } from '@vivarium/protocol';
import { type Caller, languagesIn, runCall } from '../fn/calls.ts';
import { failureOf, requestOf, responseOf } from '../fn/run-code.ts';
import { answerRoom } from './answer-room.ts';
import type { Call, Handlers } from './call.ts';

export const fnHandlers: Handlers<'fn'> = {
  'fn.run': (call) => runCall(call.body, callerOf(call)),
  'fn.warm': async ({ edge, body, owner }) => poolView(await edge.fn.warm(body, owner)),
  'fn.pools': ({ edge }) => ({ items: edge.fn.pools().map(poolView) }),
  'fn.languages': async ({ edge, query, owner }) => ({ items: await languagesIn(edge, query.image, owner) }),
  'fn.sessions': ({ edge }) => ({ items: edge.fn.sessions().map(sessionView) }),
  'fn.endSession': ({ edge, params, owner }) => edge.fn.endSession(params.session, owner) as Promise<undefined>,
  'fn.runCode': async (call) => {
    const request = requestOf(call.body);
    try {
      return responseOf(call.body, await runCall(request, callerOf(call)));
    } catch (error) {
      return failureOf(error);
    }
  },
};

function callerOf({ edge, owner, idempotency, res }: Call<'fn.run'> | Call<'fn.runCode'>): Caller {
  return { edge, owner, idempotency, room: (bytes) => answerRoom.take(bytes, res) };
}

function poolView({ owner, ...pool }: EdgePool): FnPool {
  return { ...pool, key: owner };
}

function sessionView({ owner, lastUsedAt, ...session }: EdgeSession): FnSession {
  return { ...session, key: owner, lastUsedAt: new Date(lastUsedAt).toISOString() };
}
