import { VivError } from '@vivarium/protocol/viv-error.ts';
import type { VolumeEntry } from '@vivarium/protocol/volume.ts';
import { type ByteStream, type Bytes, concat, toBase64, toReadable, toText } from './bytes.ts';
import type { Context } from './context.ts';
import { defined } from './exec-options.ts';
import type { FilePath } from './files.ts';
import { bodyOf } from './http.ts';
import { ndjson } from './ndjson.ts';
import { collect } from './page.ts';

type Control = { signal?: AbortSignal };
/** Owner ids are those inside sandboxes; 1000 is the first user of most images. */
export type VolumeAttributes = { mode?: number; uid?: number; gid?: number };
export type VolumeWriteOptions = Control &
  VolumeAttributes & {
    /** Fail with `path_exists` rather than replace. */
    exclusive?: boolean;
    /** Make missing directories above it. Default true. */
    parents?: boolean;
    /** Answer only when the data is on the disk. */
    fsync?: boolean;
  };

/** Files of one volume. Paths start at its root, with a slash or without; symbolic links are not followed. */
export class VolumeFiles {
  readonly #context: Context;
  readonly #base: string;

  constructor(context: Context, base: string) {
    this.#context = context;
    this.#base = base;
  }

  async read(path: FilePath, options: Control = {}): Promise<Uint8Array> {
    return concat(await collect(bodyOf(await this.#content(path, options), options.signal)));
  }

  async readText(path: FilePath, options: Control = {}): Promise<string> {
    return toText(await this.read(path, options));
  }

  /** Streams a file of any size. */
  async readStream(path: FilePath, options: Control = {}): Promise<ReadableStream<Uint8Array>> {
    return toReadable(bodyOf(await this.#content(path, options), options.signal));
  }

  /** Atomic: readers see the old file or the new one. Streams of any size. */
  async write(
    path: FilePath,
    data: Bytes | ByteStream | Blob,
    { signal, mode, parents = true, ...options }: VolumeWriteOptions = {},
  ): Promise<VolumeEntry> {
    const octal = mode?.toString(8).padStart(3, '0');
    const response = await this.#context.http.stream('PUT', `${this.#base}/content`, {
      query: { ...where(path), ...options, parents, mode: octal },
      body: data,
      headers: { 'content-type': 'application/octet-stream' },
      ...(signal && { signal }),
    });
    return (await response.json()) as VolumeEntry;
  }

  stat(path: FilePath, { signal }: Control = {}): Promise<VolumeEntry> {
    return this.#context.http.json('GET', `${this.#base}/stat`, { query: where(path), signal });
  }

  async exists(path: FilePath, options: Control = {}): Promise<boolean> {
    try {
      await this.stat(path, options);
      return true;
    } catch (error) {
      if (error instanceof VivError && (error.code === 'path_not_found' || error.code === 'not_directory'))
        return false;
      throw error;
    }
  }

  /** What a directory holds, `depth` levels down (default 1), parents first. */
  async *list(path: FilePath, { depth, signal }: Control & { depth?: number } = {}): AsyncGenerator<VolumeEntry> {
    const headers = { accept: 'application/x-ndjson' };
    const query = { ...where(path), depth };
    yield* ndjson<VolumeEntry>(
      await this.#context.http.stream('GET', `${this.#base}/list`, { query, headers, signal }),
    );
  }

  /** Parents are made; an existing directory is fine unless `exclusive`. */
  mkdir(
    path: FilePath,
    { signal, ...options }: Control & VolumeAttributes & { parents?: boolean; exclusive?: boolean } = {},
  ): Promise<VolumeEntry> {
    return this.#context.http.json('POST', `${this.#base}/mkdir`, {
      json: { ...where(path), ...defined(options) },
      signal,
    });
  }

  /** Mode and owner, never of what a link points to. */
  setAttributes(path: FilePath, change: VolumeAttributes, { signal }: Control = {}): Promise<VolumeEntry> {
    const json = { ...where(path), ...defined(change) };
    return this.#context.http.json('POST', `${this.#base}/attributes`, { json, signal, repeatable: true });
  }

  async remove(path: FilePath, { recursive, signal }: Control & { recursive?: boolean } = {}): Promise<void> {
    await this.#context.http.json('DELETE', this.#base, { query: { ...where(path), recursive }, signal });
  }

  /** Unpacks a tar in a directory, which is made if it is missing. Everything in it gets one owner. */
  async upload(
    path: FilePath,
    tar: Bytes | ByteStream | Blob,
    { signal, uid, gid }: Control & { uid?: number; gid?: number } = {},
  ): Promise<{ entries: number; bytes: number }> {
    const response = await this.#context.http.stream('PUT', `${this.#base}/archive`, {
      query: { ...where(path), uid, gid },
      body: tar,
      headers: { 'content-type': 'application/x-tar' },
      signal,
    });
    return (await response.json()) as { entries: number; bytes: number };
  }

  /** A directory or file as a tar stream, made while it is read. */
  async download(path: FilePath, { signal }: Control = {}): Promise<ReadableStream<Uint8Array>> {
    const query = where(path);
    const response = await this.#context.http.stream('GET', `${this.#base}/archive`, { query, signal });
    return toReadable(bodyOf(response, signal));
  }

  #content(path: FilePath, { signal }: Control): Promise<Response> {
    return this.#context.http.stream('GET', `${this.#base}/content`, { query: where(path), signal });
  }
}

function where(path: FilePath): { path?: string; pathB64?: string } {
  return typeof path === 'string' ? { path } : { pathB64: toBase64(path) };
}
