import { withStatus } from './answer.ts';
import { answerRoom } from './answer-room.ts';
import type { Handlers } from './call.ts';

export const execHandlers: Handlers<'exec'> = {
  'exec.run': async ({ edge, params, body, idempotency, res }) => {
    const result = await edge.execs.run(params.id, body, idempotency, (bytes) => answerRoom.take(bytes, res));
    if (!body.detach) return result;
    const { stdoutB64: _out, stderrB64: _err, ...exec } = result;
    return withStatus(202, exec);
  },
  'exec.list': ({ edge, params, query }) => edge.execs.list(params.id, { limit: query.limit, cursor: query.cursor }),
  'exec.get': ({ edge, params }) => edge.execs.get(params.id, params.execId),
  'exec.result': ({ edge, params, query, res }) =>
    edge.execs.result(params.id, params.execId, query.waitMs, (bytes) => answerRoom.take(bytes, res)),
  'exec.signal': ({ edge, params, body }) => edge.execs.signal(params.id, params.execId, body) as Promise<undefined>,
  'exec.resize': ({ edge, params, body }) => edge.execs.resize(params.id, params.execId, body) as Promise<undefined>,
  'exec.cancel': ({ edge, params }) => edge.execs.cancel(params.id, params.execId) as Promise<undefined>,
};
