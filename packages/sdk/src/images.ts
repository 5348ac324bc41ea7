import type { PruneReport } from '@vivarium/protocol/build.ts';
import type { Image, ImageImportInput, Progress } from '@vivarium/protocol/image.ts';
import { formatOciRef, ociImageName, parseOciRef } from '@vivarium/protocol/oci-ref.ts';
import { VivError } from '@vivarium/protocol/viv-error.ts';
import { type BuildOptions, runBuild } from './build-request.ts';
import { type ByteStream, type Bytes, toBase64, toBytes } from './bytes.ts';
import type { Context } from './context.ts';
import { ndjson } from './ndjson.ts';
import { pages } from './page.ts';

export type ImportRequest = ImageImportInput;
export type ImportConfig = NonNullable<ImportRequest['config']>;
export type ImportProgress = Extract<Progress, { type: 'progress' }>;
export type ImportOptions = { onProgress?: (progress: ImportProgress) => void; signal?: AbortSignal };

/** The image that comes with viv: Debian 12 with Python, git, gcc and make. The node makes it when it is first used. */
export const BASE_IMAGE = 'base/debian@12';

/** Images on the node: what sandboxes are made from. */
export class Images {
  readonly #context: Context;

  constructor(context: Context) {
    this.#context = context;
  }

  /** Sorted by name; steps of builds (`cache/…`) only with `all`. */
  list(options: { all?: boolean } = {}): AsyncGenerator<Image> {
    return pages<Image>(this.#context.http, '/v1/images', options.all ? { all: 'true' } : {});
  }

  get(name: string): Promise<Image> {
    return this.#context.http.json('GET', `/v1/images/${encodeURIComponent(name)}`);
  }

  /** `image_in_use` while sandboxes live on it. */
  async remove(name: string): Promise<void> {
    await this.#context.http.json('DELETE', `/v1/images/${encodeURIComponent(name)}`);
  }

  /**
   * Makes an image from a Dockerfile; steps that were made before are not made again. A step that fails is `build_failed`: the message names
   * file, line and instruction, `details.output` is the end of what it said. Nothing half-made stays.
   *
   * ```ts
   * await viv.images.build({ name: 'app@1', ...(await packContext('./app')), onProgress });
   * ```
   */
  build(options: BuildOptions): Promise<Image> {
    return runBuild(this.#context.http, options);
  }

  /** Removes the cached steps of builds. Built images keep their layers. */
  prune(): Promise<PruneReport> {
    return this.#context.http.json('POST', '/v1/builds/prune');
  }

  /** Makes the base image unless it is there (about a minute, once per node). */
  async ensureBase(options: ImportOptions = {}): Promise<void> {
    const request: ImportRequest = { name: BASE_IMAGE, source: { type: 'builtin', name: 'base' } };
    await this.import(request, options).catch((error: unknown) => {
      if (!(error instanceof VivError && error.code === 'image_exists')) throw error;
    });
  }

  /** Does `work`; where that fails because the base image is not there yet, makes it and does `work` again. */
  async withBase<T>(work: () => Promise<T>, options: ImportOptions = {}): Promise<T> {
    try {
      return await work();
    } catch (error) {
      const missing = error instanceof VivError && error.code === 'image_not_found' && error.details.image;
      if (missing !== BASE_IMAGE) throw error;
      await this.ensureBase(options);
      return work();
    }
  }

  /** Makes an image on the node; resolves when it can be used. A failed import leaves nothing. */
  async import(request: ImportRequest, options: ImportOptions = {}): Promise<Image> {
    const headers = { 'content-type': 'application/json' };
    const response = await this.#context.http.stream('POST', '/v1/images/import', {
      body: JSON.stringify(request),
      headers,
      signal: options.signal,
    });
    return finish(response, options);
  }

  /**
   * Makes an image of a file tree that comes as a tar (ustar, pax or GNU; not compressed). `opaque`: directories of it, as `/tests`, that hide
   * what lies below them when the image is laid over another (`overlay` of a create).
   */
  async importTar(
    name: string,
    tar: Bytes | ByteStream | Blob,
    options: ImportOptions & { config?: ImportConfig; opaque?: readonly string[] } = {},
  ): Promise<Image> {
    const config = options.config === undefined ? undefined : toBase64(toBytes(JSON.stringify(options.config)));
    const headers = { 'content-type': 'application/x-tar' };
    const response = await this.#context.http.stream('POST', '/v1/images/import-tar', {
      query: { name, config, ...(options.opaque && { opaque: [...options.opaque] }) },
      body: tar,
      headers,
      signal: options.signal,
    });
    return finish(response, options);
  }

  /**
   * Makes an image of an OCI image: `archive` is a tar of an OCI layout or a docker-save archive (plain, gzip or zstd). `ref` says which one
   * of several: a name, tag or digest of the archive's. A layer that the node has is not converted again.
   */
  async importOci(
    name: string,
    archive: Bytes | ByteStream | Blob,
    options: ImportOptions & { ref?: string; config?: ImportConfig } = {},
  ): Promise<Image> {
    const config = options.config === undefined ? undefined : toBase64(toBytes(JSON.stringify(options.config)));
    const response = await this.#context.http.stream('POST', '/v1/images/import-oci', {
      query: { name, config, ...(options.ref !== undefined && { ref: options.ref }) },
      body: archive,
      headers: { 'content-type': 'application/x-tar' },
      signal: options.signal,
    });
    return finish(response, options);
  }

  /**
   * Brings an image from a registry through the node's skopeo, once. Without a name it gets the one that creates by this reference use
   * (`oci/HOST/PATH@TAG`); what is there already is returned as it is.
   */
  async pull(ref: string, options: ImportOptions & { name?: string; config?: ImportConfig } = {}): Promise<Image> {
    const name = options.name ?? nameOf(ref);
    const request: ImportRequest = { name, source: { type: 'registry', ref: tagged(ref) } };
    try {
      return await this.import(options.config ? { ...request, config: options.config } : request, options);
    } catch (error) {
      if (options.name === undefined && error instanceof VivError && error.code === 'image_exists')
        return this.get(name);
      throw error;
    }
  }
}

function nameOf(ref: string): string {
  const parsed = parseOciRef(ref);
  const name = parsed && ociImageName(parsed);
  if (!name)
    throw new VivError('invalid_argument', `'${ref}' is no OCI reference: HOST/PATH:TAG or HOST/PATH@sha256:…`);
  return name;
}

/** In full: the node takes a reference without tag and digest for the name of an image. */
function tagged(ref: string): string {
  const parsed = parseOciRef(ref);
  return parsed ? formatOciRef(parsed) : ref;
}

async function finish(response: Response, options: ImportOptions): Promise<Image> {
  for await (const progress of ndjson<Progress>(response)) {
    if (progress.type === 'done') return progress.image;
    if (progress.type === 'error')
      throw VivError.fromBody('error' in progress.error ? progress.error : { error: progress.error });
    options.onProgress?.(progress);
  }
  throw new VivError('connection_lost', 'the server ended the import without a result');
}
