import { VivError } from '@vivarium/protocol';
import { bytes, ndjson } from './answer.ts';
import { BodyChunks } from './body-chunks.ts';
import type { Handlers } from './call.ts';
import { contentAnswer, gatherEntries } from './file-answer.ts';
import { pathBytes } from './path.ts';

type At = { path?: string | undefined; pathB64?: string | undefined; user?: string | undefined };
const at = (from: At) => pathBytes(from.path, from.pathB64);

export const fileHandlers: Handlers<'file'> = {
  'file.read': ({ edge, params, query, req }) => {
    const [path, as] = [at(query), { user: query.user }];
    return contentAnswer(req.headers.range, {
      stat: () => edge.files.stat(params.id, path, { ...as, follow: true }),
      read: (range) => edge.files.read(params.id, path, { ...as, ...range }),
    });
  },
  'file.write': ({ edge, params, query, req }) => {
    const { mode, append, exclusive, fsync, owner, offset, user, metadata } = query;
    if (append && offset !== undefined)
      throw new VivError('invalid_argument', 'append and offset exclude each other', { details: { field: 'offset' } });
    const options = {
      append,
      exclusive,
      fsync,
      owner,
      offset,
      user,
      ...(metadata !== undefined && { metadata: metadataOf(metadata) }),
      ...(mode !== undefined && { mode: Number.parseInt(mode, 8) }),
    };
    return edge.files.write(params.id, at(query), new BodyChunks(req), options);
  },
  'file.stat': ({ edge, params, query }) =>
    edge.files.stat(params.id, at(query), { user: query.user, follow: query.follow, resolve: query.resolve }),
  'file.list': async ({ edge, params, query, req }) => {
    const entries = edge.files.list(params.id, at(query), {
      user: query.user,
      depth: query.depth,
      resolve: query.resolve,
      metadata: query.metadata,
    });
    if (req.headers.accept?.includes('application/x-ndjson')) return ndjson(entries);
    return { items: await gatherEntries(entries) };
  },
  'file.mkdir': ({ edge, params, body }) => {
    const { mode, parents, exclusive, user } = body;
    return edge.files.mkdir(params.id, at(body), { parents, exclusive, user, ...(mode !== undefined && { mode }) });
  },
  'file.move': ({ edge, params, body }) =>
    edge.files.move(params.id, at(body), pathBytes(body.to, body.toB64, 'to'), {
      user: body.user,
      overwrite: body.overwrite,
      parents: body.parents,
    }),
  'file.chmod': ({ edge, params, body }) =>
    edge.files.chmod(params.id, at(body), body.mode, {
      user: body.user,
      recursive: body.recursive,
    }) as Promise<undefined>,
  'file.chown': ({ edge, params, body }) =>
    edge.files.chown(params.id, at(body), body.owner, {
      user: body.user,
      recursive: body.recursive,
    }) as Promise<undefined>,
  'file.symlink': ({ edge, params, body }) => edge.files.symlink(params.id, at(body), body.target, { user: body.user }),
  'file.remove': ({ edge, params, query }) =>
    edge.files.remove(params.id, at(query), {
      user: query.user,
      recursive: query.recursive,
      missingOk: query.missingOk,
    }),
  'file.archive': async ({ edge, params, query }) =>
    bytes(await edge.files.archive(params.id, at(query), { user: query.user }), 200, {
      'content-type': 'application/x-tar',
    }),
  'file.unarchive': ({ edge, params, query, req }) =>
    edge.files.unarchive(params.id, at(query), new BodyChunks(req), { user: query.user, owner: query.owner }),
};

function metadataOf(items: string[]): Record<string, string> {
  return Object.fromEntries(items.map((item) => [item.slice(0, item.indexOf('=')), item.slice(item.indexOf('=') + 1)]));
}
