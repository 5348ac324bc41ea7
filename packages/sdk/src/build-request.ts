import type { BuildProgress, BuildRequestInput } from '@vivarium/protocol/build.ts';
import type { Image } from '@vivarium/protocol/image.ts';
import { VivError } from '@vivarium/protocol/viv-error.ts';
import { type ByteStream, type Bytes, toBase64, toBytes } from './bytes.ts';
import type { Http, Query } from './http.ts';
import { ndjson } from './ndjson.ts';

export type BuildEvent = Exclude<BuildProgress, { type: 'done' | 'error' }>;

export type BuildOptions = BuildRequestInput & {
  /** The files that COPY sees, and the Dockerfile, as a tar. In Node `packContext` of `@vivarium/sdk/node` makes one of a directory. */
  context: Bytes | ByteStream | Blob;
  onProgress?: (event: BuildEvent) => void;
  /** Ends the build on the node. */
  signal?: AbortSignal;
};

/** Sends the context, follows the build, returns the image. */
export async function runBuild(http: Http, options: BuildOptions): Promise<Image> {
  const { context, onProgress, signal, ...request } = options;
  const headers = { 'content-type': 'application/x-tar' };
  const response = await http.stream('POST', '/v1/builds', { query: queryOf(request), body: context, headers, signal });
  for await (const progress of ndjson<BuildProgress>(response)) {
    if (progress.type === 'done') return progress.image;
    if (progress.type === 'error')
      throw VivError.fromBody('error' in progress.error ? progress.error : { error: progress.error });
    onProgress?.(progress);
  }
  throw new VivError('connection_lost', 'the server ended the build without a result');
}

function queryOf({ buildArgs, labels, map, limits, ...plain }: BuildRequestInput): Query {
  return { ...plain, buildArgs: json(buildArgs), labels: json(labels), map: json(map), limits: json(limits) };
}

function json(value: object | undefined): string | undefined {
  return value === undefined || Object.keys(value).length === 0 ? undefined : toBase64(toBytes(JSON.stringify(value)));
}
