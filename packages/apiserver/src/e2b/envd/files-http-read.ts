import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import { type Entry, VivError } from '@vivarium/protocol';
import { bytes, sendJson, writeHead } from '../../http/answer.ts';
import { parseRange } from '../../http/range.ts';
import { codingFor } from './accept-encoding.ts';
import type { EnvdCall } from './envd-call.ts';
import { dispositionOf, mediaOf } from './file-media.ts';
import { actingFor, actorOf, nameOf, resolvePath } from './filesystem-user.ts';
import { isConditional, precondition, rangeHolds } from './precondition.ts';

type Headers = Record<string, string | number>;
const GZIP_LEVEL = 1;

/** GET and HEAD of /files: the content of one file, or a range of it. */
export async function sendFile(call: EnvdCall, query: { path?: string | undefined }): Promise<void> {
  const { req, res, context, sandbox } = call;
  const actor = await actorOf(call);
  const path = resolvePath(query.path ?? '', actor);
  const asked = { path, bytes: Buffer.from(path), how: actingFor(actor) };
  // A part or a comparison is of the file as it is.
  const whole = req.headers.range === undefined && !isConditional(req.headers);
  const coding = codingFor(req.headers['accept-encoding'], whole);
  if (coding === null)
    return sendJson(res, 406, { code: 406, message: 'no acceptable encoding; identity and, of whole files, gzip are' });
  if (!whole || req.method === 'HEAD') return answerOf(call, asked);
  const { entry, stream } = await context.edge.files.read(sandbox, asked.bytes, asked.how);
  const headers = headersOf(entry, path);
  if (coding === 'gzip' && entry.sizeBytes > 0) {
    writeHead(stream, res, 200, { ...headers, 'content-encoding': 'gzip' });
    return pipeline(stream, createGzip({ level: GZIP_LEVEL }), res);
  }
  if (entry.sizeBytes > 0) return bytes(stream, 200, { ...headers, 'content-length': entry.sizeBytes }).send(res);
  return sendUnsized(stream, res, headers);
}

type Asked = { path: string; bytes: Buffer; how: { user: string; privileged: true } };

/** Looks at the file before it opens it: what depends on its size and time. */
async function answerOf({ req, res, context, sandbox }: EnvdCall, { path, bytes: at, how }: Asked): Promise<void> {
  const { files } = context.edge;
  const entry = await files.stat(sandbox, at, { ...how, follow: true });
  if (entry.type === 'dir') throw new VivError('is_directory', `path '${path}' is a directory`);
  if (entry.type !== 'file') throw new VivError('not_regular_file', `path '${path}' is not a regular file`);
  const headers = headersOf(entry, path);
  const status = precondition(req.headers, entry.mtimeMs);
  if (status !== null) return void res.writeHead(status, status === 304 ? headers : {}).end();
  const size = entry.sizeBytes;
  const range = rangeHolds(req.headers, entry.mtimeMs) ? parseRange(req.headers.range, size) : undefined;
  if (range === 'unsatisfiable') {
    const body = { code: 416, message: `nothing of ${req.headers.range} is in a file of ${size} bytes` };
    return sendJson(res, 416, body, { 'content-range': `bytes */${size}` });
  }
  const length = range?.length ?? size;
  const answer: Headers = { ...headers, 'content-length': length };
  if (range) answer['content-range'] = `bytes ${range.offset}-${range.offset + length - 1}/${size}`;
  if (req.method === 'HEAD' || length === 0) return void res.writeHead(range ? 206 : 200, answer).end();
  const { stream } = await files.read(sandbox, at, { ...how, offset: range?.offset ?? 0, length });
  return bytes(stream, range ? 206 : 200, answer).send(res);
}

/** Content is the sandbox's: a browser that is shown a page of it must not take it for one of ours. */
function headersOf(entry: Entry, path: string): Headers {
  const name = nameOf(path);
  return {
    'accept-ranges': 'bytes',
    'content-disposition': dispositionOf(name),
    'content-security-policy': 'sandbox',
    'content-type': mediaOf(name),
    'last-modified': new Date(entry.mtimeMs).toUTCString(),
    vary: 'Accept-Encoding',
    'x-content-type-options': 'nosniff',
  };
}

/** An empty file says so, since clients look for it; one of /proc only looks empty. */
async function sendUnsized(stream: Readable, res: ServerResponse, headers: Headers): Promise<void> {
  const ended = once(stream, 'end');
  await Promise.race([once(stream, 'readable'), ended]);
  const first = stream.read() as Buffer | null;
  if (first === null && stream.readableEnded === false) await ended;
  if (first === null) return bytes(stream, 200, { ...headers, 'content-length': 0 }).send(res) as Promise<void>;
  stream.unshift(first);
  ended.catch(() => {});
  return bytes(stream, 200, headers).send(res) as Promise<void>;
}
