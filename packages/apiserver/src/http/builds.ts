import { type BuildProgress, type BuildQuery, BuildRequest, VivError } from '@vivarium/protocol';
import { ndjson } from './answer.ts';
import { parseJson } from './body.ts';
import { BodyChunks } from './body-chunks.ts';
import type { Handlers } from './call.ts';
import { check } from './issues.ts';

const failed = (error: VivError): BuildProgress => ({ type: 'error', error: error.toBody().error });

export const buildHandlers: Handlers<'build'> = {
  'build.run': ({ edge, query, req, owner, key, signal }) => {
    const request = requestOf(query);
    if (request.network === 'node' && !key.scopes.includes('admin'))
      throw new VivError('forbidden', 'a build with the node’s own network needs a key with the scope admin', {
        details: { scope: 'admin' },
      });
    return ndjson(edge.builds.build(request, new BodyChunks(req), owner, signal), failed);
  },
  'build.prune': ({ edge }) => edge.builds.prune(),
};

function requestOf(query: BuildQuery): BuildRequest {
  const { buildArgs, labels, map, limits, noCache, ...plain } = query;
  const parts = { buildArgs, labels, map, limits };
  const objects = Object.entries(parts).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, decoded(name, value)]],
  );
  return check(BuildRequest, {
    ...plain,
    ...Object.fromEntries(objects),
    ...(noCache === 'true' && { noCache: true }),
  });
}

function decoded(name: string, base64: string): unknown {
  if (!/^[A-Za-z0-9+/_-]*={0,2}$/.test(base64))
    throw new VivError('invalid_argument', `${name} is not base64`, { details: { field: name } });
  return parseJson(Buffer.from(base64, 'base64').toString('utf8'));
}
