import type { IncomingMessage } from 'node:http';
import { pipeline } from 'node:stream/promises';
import { createGunzip } from 'node:zlib';
import { VivError } from '@vivarium/protocol';
import type { WrittenFile } from '@vivarium/protocol/e2b/filesystem.ts';
import { sendJson } from '../../http/answer.ts';
import { BodyChunks } from '../../http/body-chunks.ts';
import type { EnvdCall } from './envd-call.ts';
import { takeForm } from './files-form.ts';
import { type Actor, actingFor, actorOf, nameOf, resolvePath } from './filesystem-user.ts';
import { StreamChunks } from './stream-chunks.ts';

const METADATA_HEADER = 'x-metadata-';
const INFLATED_CHUNK_BYTES = 131_072;

type Metadata = Record<string, string> | undefined;

/** POST /files: the body is one file, or a form of several. Each is there whole or not at all. Answers with what was written. */
export async function takeFiles(call: EnvdCall, { path }: { path?: string | undefined }): Promise<void> {
  const { req, res } = call;
  const media = (req.headers['content-type'] ?? '').split(';', 1)[0]!.trim().toLowerCase();
  const metadata = metadataOf(req);
  const body = plainBody(req);
  const actor = await actorOf(call);
  if (media === 'application/octet-stream') {
    if (path === undefined)
      throw new VivError('invalid_argument', 'path query parameter is required for raw body upload');
    return sendJson(res, 200, [await write(call, actor, resolvePath(path, actor), body, metadata)]);
  }
  if (!media.startsWith('multipart/'))
    throw new VivError(
      'invalid_argument',
      `unsupported content type: ${media}, expected multipart/form-data or application/octet-stream`,
    );
  const paths: string[] = [];
  const written = await takeForm(req.headers, body, async (name, content) => {
    const to = resolvePath(path ?? named(name), actor);
    if (paths.includes(to)) throw twice(to, paths);
    paths.push(to);
    return write(call, actor, to, content, metadata);
  });
  sendJson(res, 200, written);
}

async function write(
  { context, sandbox }: EnvdCall,
  actor: Actor,
  path: string,
  body: AsyncIterable<Uint8Array>,
  metadata: Metadata,
): Promise<WrittenFile> {
  const how = {
    ...actingFor(actor),
    owner: actor.account.name,
    append: false,
    exclusive: false,
    fsync: false,
    metadata,
  };
  const entry = await context.edge.files.write(sandbox, Buffer.from(path), body, how);
  return { name: nameOf(path), path, type: 'file', ...(entry.metadata && { metadata: entry.metadata }) };
}

/** The body without its `Content-Encoding`. */
function plainBody(req: IncomingMessage): AsyncIterable<Uint8Array> {
  const coding = (req.headers['content-encoding'] ?? 'identity').split(';', 1)[0]!.trim().toLowerCase();
  const body = new BodyChunks(req);
  if (coding === 'identity' || coding === '') return body;
  if (coding !== 'gzip' && coding !== 'x-gzip')
    throw new VivError('invalid_argument', `unsupported Content-Encoding: ${coding.slice(0, 50)}, supported: gzip`);
  const gunzip = createGunzip({ chunkSize: INFLATED_CHUNK_BYTES });
  const chunks = new StreamChunks(gunzip, 'error decompressing request body');
  // What goes wrong with either comes out of the chunks.
  pipeline(body, gunzip).catch(() => {});
  return chunks;
}

/** Headers `X-Metadata-KEY`; a key is in lower case, the first of several values counts. Throws `invalid_argument`. */
function metadataOf(req: IncomingMessage): Metadata {
  const pairs = Object.entries(req.headersDistinct)
    .filter(([name]) => name.startsWith(METADATA_HEADER) && name.length > METADATA_HEADER.length)
    .map(([name, values]) => [name.slice(METADATA_HEADER.length), values?.[0] ?? ''] as const);
  for (const [key, value] of pairs)
    if (!/^[\x20-\x7e]*$/.test(value))
      throw new VivError('invalid_argument', `metadata value for key "${key}" is not printable US-ASCII`);
  return pairs.length === 0 ? undefined : Object.fromEntries(pairs);
}

function named(name: string | undefined): string {
  if (name === undefined || name === '')
    throw new VivError('invalid_argument', 'a file of the form has no name, and the query no path');
  return name;
}

function twice(path: string, paths: readonly string[]): VivError {
  const others = paths.filter((other) => other !== path).slice(0, 20);
  const also = others.length > 0 ? `, also the following files were uploaded: ${others.join(', ')}` : '';
  return new VivError(
    'invalid_argument',
    `you cannot upload multiple files to the same path '${path}' in one upload request, only the first specified file was uploaded${also}`,
  );
}
