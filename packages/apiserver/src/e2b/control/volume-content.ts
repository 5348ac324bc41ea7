import { createHash, timingSafeEqual } from 'node:crypto';
import { VivError, type VolumeEntry } from '@vivarium/protocol';
import {
  E2bDirectoryQuery,
  E2bMakeQuery,
  E2bMetadata,
  E2bPathQuery,
  type E2bVolumeEntry,
} from '@vivarium/protocol/e2b/volume.ts';
import { presentedSecret } from '../../auth/authenticate.ts';
import { bytes } from '../../http/answer.ts';
import { BodyChunks } from '../../http/body-chunks.ts';
import { type ControlCall, type ControlRoute, route } from './control-call.ts';
import { jsonArray } from './json-array.ts';

const at = (path: string) => Buffer.from(path);

/** The files of one volume, for whoever has its token. */
export const volumeContentRoutes: ControlRoute[] = [
  route('GET /volumecontent/{volumeID}/path', {
    auth: 'none',
    status: 200,
    query: E2bPathQuery,
    run: async (call) => entryView(await call.edge.volumes.files.stat(opened(call), at(call.query.path))),
  }),
  route('PATCH /volumecontent/{volumeID}/path', {
    auth: 'none',
    status: 200,
    query: E2bPathQuery,
    body: E2bMetadata,
    run: async (call) => {
      const { uid, gid, mode } = call.body;
      const change = { uid: uid ?? undefined, gid: gid ?? undefined, mode: mode ?? undefined };
      return entryView(await call.edge.volumes.files.setAttributes(opened(call), at(call.query.path), change));
    },
  }),
  route('DELETE /volumecontent/{volumeID}/path', {
    auth: 'none',
    status: 204,
    query: E2bPathQuery,
    run: async (call) => {
      await call.edge.volumes.files.remove(opened(call), at(call.query.path), { recursive: true });
      return undefined;
    },
  }),
  route('GET /volumecontent/{volumeID}/dir', {
    auth: 'none',
    status: 200,
    query: E2bDirectoryQuery,
    run: (call) => {
      const { path, depth } = call.query;
      return jsonArray(call.edge.volumes.files.list(opened(call), at(path), { depth }), entryView);
    },
  }),
  route('POST /volumecontent/{volumeID}/dir', {
    auth: 'none',
    status: 201,
    query: E2bMakeQuery,
    run: async (call) => {
      const { path, force, ...attributes } = call.query;
      const options = { ...attributes, parents: force, exclusive: !force };
      return entryView(await call.edge.volumes.files.mkdir(opened(call), at(path), options));
    },
  }),
  route('GET /volumecontent/{volumeID}/file', {
    auth: 'none',
    status: 200,
    query: E2bPathQuery,
    run: async (call) => {
      const { entry, stream } = await call.edge.volumes.files.read(opened(call), at(call.query.path), {});
      // Also of an empty file: without it clients wait for a body.
      return bytes(stream, 200, { 'content-type': 'application/octet-stream', 'content-length': entry.sizeBytes });
    },
  }),
  route('PUT /volumecontent/{volumeID}/file', {
    auth: 'none',
    status: 201,
    query: E2bMakeQuery,
    run: async (call) => {
      const { path, force, ...attributes } = call.query;
      const options = { ...attributes, exclusive: !force, parents: force, fsync: false };
      const body = new BodyChunks(call.req);
      return entryView(await call.edge.volumes.files.write(opened(call), at(path), body, options));
    },
  }),
];

/** The volume that the token of the call opens. Throws `volume_not_found` and `unauthenticated`. */
function opened({ edge, params, req }: Pick<ControlCall, 'edge' | 'params' | 'req'>): string {
  const id = params.volumeID!;
  const expected = edge.volumes.token(id);
  const given = presentedSecret(req.headers);
  if (given === undefined || !timingSafeEqual(digest(given), digest(expected)))
    throw new VivError('unauthenticated', `the token is not that of volume ${id}`);
  return id;
}

function digest(secret: string): Buffer {
  return createHash('sha256').update(secret).digest();
}

function entryView(entry: VolumeEntry): E2bVolumeEntry {
  const { name, path, type, mode, uid, gid, sizeBytes, atimeMs, mtimeMs, ctimeMs, target } = entry;
  return {
    name: name === '' ? '/' : name,
    type: type === 'dir' ? 'directory' : type === 'file' || type === 'symlink' ? type : 'unknown',
    path,
    size: sizeBytes,
    mode: mode & 0o777,
    uid,
    gid,
    atime: timeOf(atimeMs),
    mtime: timeOf(mtimeMs),
    ctime: timeOf(ctimeMs),
    ...(target !== undefined && { target }),
  };
}

/** Programs in sandboxes set any time (utimensat(2)); RFC 3339 has years of four digits. */
function timeOf(ms: number): string {
  const most = Date.UTC(9999, 11, 31, 23, 59, 59, 999);
  const least = Date.UTC(1, 0, 1) - 1900 * 31_556_952_000;
  return new Date(Math.min(most, Math.max(ms, least))).toISOString();
}
