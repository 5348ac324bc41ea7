import { type Entry, VivError } from '@vivarium/protocol';
import { LIST_ITEMS_MAX } from '@vivarium/protocol/routes.ts';
import { bytes, ndjson, withStatus } from './answer.ts';
import { BodyChunks } from './body-chunks.ts';
import type { Call, Handlers } from './call.ts';
import { pathBytes } from './path.ts';
import { parseRange } from './range.ts';

/** Clients take 16 KiB of headers in all (Node's default); a path of 4,096 odd bytes would be more. */
const ENTRY_HEADER_MAX = 8_000;

type At = { path?: string | undefined; pathB64?: string | undefined; user?: string | undefined };
const at = (from: At) => pathBytes(from.path, from.pathB64);

export const fileHandlers: Handlers<'file'> = {
  'file.read': (call) => readFile(call),
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
    });
    if (req.headers.accept?.includes('application/x-ndjson')) return ndjson(entries);
    return { items: await gather(entries) };
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

/** A range needs the size first: one more look at the file, only when a range is asked for. */
async function readFile({ edge, params, query, req }: Call<'file.read'>) {
  const path = at(query);
  const wanted = req.headers.range;
  const size =
    wanted === undefined
      ? undefined
      : (await edge.files.stat(params.id, path, { user: query.user, follow: true })).sizeBytes;
  const range = size === undefined ? undefined : parseRange(wanted, size);
  if (range === 'unsatisfiable')
    return withStatus(
      416,
      new VivError('invalid_argument', `the file has ${size} bytes; nothing of it is in ${wanted}`).toBody(),
    );
  const { entry, stream } = await edge.files.read(params.id, path, { user: query.user, ...range });
  const headers: Record<string, string | number> = {
    'content-type': 'application/octet-stream',
    'accept-ranges': 'bytes',
  };
  const shown = asciiJson(entry);
  if (shown.length <= ENTRY_HEADER_MAX) headers['x-viv-entry'] = shown;
  if (!range) {
    // The size of a file that grows or of one in /proc says nothing: those end with the stream (chunked).
    if (entry.sizeBytes > 0) headers['content-length'] = entry.sizeBytes;
    return bytes(stream, 200, headers);
  }
  headers['content-length'] = range.length;
  headers['content-range'] = `bytes ${range.offset}-${range.offset + range.length - 1}/${size}`;
  return bytes(stream, 206, headers);
}

async function gather(entries: AsyncIterable<Entry>): Promise<Entry[]> {
  const items: Entry[] = [];
  for await (const entry of entries) {
    if (items.length === LIST_ITEMS_MAX) {
      throw new VivError('payload_too_large', `the directory has more than ${LIST_ITEMS_MAX} entries`, {
        hint: 'Ask with `Accept: application/x-ndjson`, or for a smaller depth.',
      });
    }
    items.push(entry);
  }
  return items;
}

/** JSON for a header: headers are Latin-1 on the wire, so everything else is escaped. */
function asciiJson(value: unknown): string {
  return JSON.stringify(value).replace(
    /[\u007f-\uffff]/g,
    (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}
