import { bytes, ndjson } from './answer.ts';
import { BodyChunks } from './body-chunks.ts';
import type { Call, Handlers } from './call.ts';
import { contentAnswer, gatherEntries } from './file-answer.ts';
import { pathBytes } from './path.ts';

type At = { path?: string | undefined; pathB64?: string | undefined };
const at = (from: At) => pathBytes(from.path, from.pathB64);
type OfOne = Pick<Call<'volume.get'>, 'edge' | 'owner' | 'params'>;
const idOf = ({ edge, owner, params }: OfOne) => edge.volumes.find(params.volume, owner.keyId).id;
const octal = (mode: string | undefined) => (mode === undefined ? {} : { mode: Number.parseInt(mode, 8) });

export const volumeHandlers: Handlers<'volume'> = {
  'volume.create': ({ edge, body, owner }) => edge.volumes.create(body, owner),
  'volume.list': ({ edge, query }) => edge.volumes.list(query),
  'volume.get': ({ edge, owner, params }) => edge.volumes.find(params.volume, owner.keyId),
  'volume.remove': (call) => call.edge.volumes.remove(idOf(call)) as Promise<undefined>,
  'volume.read': (call) => {
    const [id, path, { files }] = [idOf(call), at(call.query), call.edge.volumes];
    return contentAnswer(call.req.headers.range, {
      stat: () => files.stat(id, path),
      read: (range) => files.read(id, path, range),
    });
  },
  'volume.write': (call) => {
    const { mode, uid, gid, exclusive, parents, fsync } = call.query;
    const options = { ...octal(mode), uid, gid, exclusive, parents, fsync };
    return call.edge.volumes.files.write(idOf(call), at(call.query), new BodyChunks(call.req), options);
  },
  'volume.stat': (call) => call.edge.volumes.files.stat(idOf(call), at(call.query)),
  'volume.files': async (call) => {
    const entries = call.edge.volumes.files.list(idOf(call), at(call.query), { depth: call.query.depth });
    if (call.req.headers.accept?.includes('application/x-ndjson')) return ndjson(entries);
    return { items: await gatherEntries(entries) };
  },
  'volume.mkdir': (call) => {
    const { mode, uid, gid, parents, exclusive } = call.body;
    return call.edge.volumes.files.mkdir(idOf(call), at(call.body), { mode, uid, gid, parents, exclusive });
  },
  'volume.setAttributes': (call) => {
    const { mode, uid, gid } = call.body;
    return call.edge.volumes.files.setAttributes(idOf(call), at(call.body), { mode, uid, gid });
  },
  'volume.removeFile': (call) => {
    const { recursive } = call.query;
    return call.edge.volumes.files.remove(idOf(call), at(call.query), { recursive }) as Promise<undefined>;
  },
  'volume.archive': async (call) =>
    bytes(await call.edge.volumes.files.archive(idOf(call), at(call.query)), 200, {
      'content-type': 'application/x-tar',
    }),
  'volume.unarchive': (call) => {
    const { uid, gid } = call.query;
    return call.edge.volumes.files.unarchive(idOf(call), at(call.query), new BodyChunks(call.req), { uid, gid });
  },
};
