import type { Entry, WatchEvent } from '@vivarium/protocol/files.ts';
import { VivError } from '@vivarium/protocol/viv-error.ts';
import { type ByteStream, type Bytes, concat, toBase64, toReadable, toText } from './bytes.ts';
import type { Context } from './context.ts';
import { defined } from './exec-options.ts';
import { bodyOf, type Query } from './http.ts';
import { ndjson } from './ndjson.ts';
import { collect } from './page.ts';
import { Subscription } from './subscription.ts';

/** Text, or the exact bytes for names that are not UTF-8. Relative paths and `~` start at the user's home. */
export type FilePath = string | Uint8Array;

export type FileOptions = {
  /** Acts with this user's permissions. Default: the sandbox's user (the image's, else root). */
  user?: string;
  signal?: AbortSignal;
};
export type ReadOptions = FileOptions & {
  /** First byte. Default 0. */
  offset?: number;
  /** Bytes at most. Default: to the end. */
  length?: number;
};
export type WriteOptions = FileOptions & {
  /** Permission bits, as 0o644. */
  mode?: number;
  /** `user[:group]` that will own it. */
  owner?: string;
  /** Fail with `path_exists` rather than replace. */
  exclusive?: boolean;
  /** Answer only when the data is on the disk. */
  fsync?: boolean;
  /** Write there without truncating; not atomic. */
  offset?: number;
  /** Noted with the file, and told in its entry: at most 4,096 bytes of names and values. */
  metadata?: Record<string, string>;
};

/** Files of one sandbox. Paths are resolved inside it. */
export class Files {
  readonly #context: Context;
  readonly #base: string;
  readonly #sandbox: string;

  constructor(context: Context, sandbox: string) {
    this.#context = context;
    this.#sandbox = sandbox;
    this.#base = `/v1/sandboxes/${sandbox}/files`;
  }

  async read(path: FilePath, options: ReadOptions = {}): Promise<Uint8Array> {
    return concat(await collect(bodyOf(await this.#content(path, options), options.signal)));
  }

  async readText(path: FilePath, options: ReadOptions = {}): Promise<string> {
    return toText(await this.read(path, options));
  }

  /** Streams a file of any size; a slow reader makes the sandbox wait. */
  async readStream(path: FilePath, options: ReadOptions = {}): Promise<ReadableStream<Uint8Array>> {
    return toReadable(bodyOf(await this.#content(path, options), options.signal));
  }

  /** Atomic: readers see the old file or the new one. Parents are made. Streams of any size (browsers: where fetch can stream a request). */
  write(path: FilePath, data: Bytes | ByteStream | Blob, options: WriteOptions = {}): Promise<Entry> {
    return this.#put(path, data, options, {});
  }

  append(path: FilePath, data: Bytes | ByteStream | Blob, options: FileOptions = {}): Promise<Entry> {
    return this.#put(path, data, options, { append: true });
  }

  /** Of the path itself; `follow`: of what a symlink points to; `resolve`: of the symlink, with where it leads. */
  stat(path: FilePath, options: FileOptions & { follow?: boolean; resolve?: boolean } = {}): Promise<Entry> {
    const { follow, resolve } = options;
    return this.#get('/stat', { ...where(path, options), follow, resolve }, options);
  }

  async exists(path: FilePath, options: FileOptions = {}): Promise<boolean> {
    try {
      await this.stat(path, options);
      return true;
    } catch (error) {
      if (error instanceof VivError && (error.code === 'path_not_found' || error.code === 'not_directory'))
        return false;
      throw error;
    }
  }

  /** What a directory holds, `depth` levels down (default 1), parents first. `metadata`: with that of the entries, in twice the time. */
  async *list(
    path: FilePath,
    options: FileOptions & { depth?: number; resolve?: boolean; metadata?: boolean } = {},
  ): AsyncGenerator<Entry> {
    const { depth, resolve, metadata } = options;
    const query = { ...where(path, options), depth, resolve, metadata };
    const headers = { accept: 'application/x-ndjson' };
    yield* ndjson<Entry>(
      await this.#context.http.stream('GET', `${this.#base}/list`, { query, headers, signal: options.signal }),
    );
  }

  /** Parents are made; an existing directory is fine unless `exclusive`. */
  mkdir(
    path: FilePath,
    options: FileOptions & { mode?: number; parents?: boolean; exclusive?: boolean } = {},
  ): Promise<Entry> {
    const { mode, parents, exclusive } = options;
    return this.#post('/mkdir', { ...where(path, options), ...defined({ mode, parents, exclusive }) }, options);
  }

  move(from: FilePath, to: FilePath, options: FileOptions & { overwrite?: boolean } = {}): Promise<Entry> {
    const target = typeof to === 'string' ? { to } : { toB64: toBase64(to) };
    return this.#post(
      '/move',
      { ...where(from, options), ...target, ...defined({ overwrite: options.overwrite }) },
      options,
    );
  }

  /** Never follows a symlink out of the directory. Returns how many entries went. */
  async remove(
    path: FilePath,
    options: FileOptions & { recursive?: boolean; missingOk?: boolean } = {},
  ): Promise<number> {
    const query = { ...where(path, options), recursive: options.recursive, missingOk: options.missingOk };
    const answer = await this.#context.http.json<{ removed: number } | undefined>('DELETE', this.#base, {
      query,
      signal: options.signal,
    });
    return answer?.removed ?? 0;
  }

  async chmod(path: FilePath, mode: number, options: FileOptions & { recursive?: boolean } = {}): Promise<void> {
    await this.#post(
      '/chmod',
      { ...where(path, options), mode, ...defined({ recursive: options.recursive }) },
      options,
    );
  }

  /** `owner` is `user[:group]`, by name or number. */
  async chown(path: FilePath, owner: string, options: FileOptions & { recursive?: boolean } = {}): Promise<void> {
    await this.#post(
      '/chown',
      { ...where(path, options), owner, ...defined({ recursive: options.recursive }) },
      options,
    );
  }

  symlink(target: string, path: FilePath, options: FileOptions = {}): Promise<Entry> {
    return this.#post('/symlink', { ...where(path, options), target }, options);
  }

  /**
   * What happens in a directory from the moment this resolves. After a broken connection came back, an event of kind
   * `overflow` says that something may have been missed.
   */
  async watch(
    path: FilePath,
    options: { recursive?: boolean; signal?: AbortSignal } = {},
  ): Promise<Subscription<WatchEvent>> {
    const subscription = new Subscription<WatchEvent>(this.#context, {
      open: {
        op: 'file.watch',
        sandbox: this.#sandbox,
        ...where(path, {}),
        ...defined({ recursive: options.recursive }),
      },
      pick: (event) => (typeof event.kind === 'string' ? (event as unknown as WatchEvent) : undefined),
      afterBreak: () => ({ kind: 'overflow', path: '', isDir: true }),
      signal: options.signal,
    });
    await subscription.ready;
    return subscription;
  }

  /** Unpacks a tar beneath a directory (made if missing). An entry that would leave it is refused with `path_escapes`. */
  async upload(
    path: FilePath,
    tar: Bytes | ByteStream | Blob,
    options: FileOptions & { owner?: string } = {},
  ): Promise<{ entries: number; bytes: number }> {
    const query = { ...where(path, options), owner: options.owner };
    const response = await this.#context.http.stream('PUT', `${this.#base}/archive`, {
      query,
      body: tar,
      headers: TAR,
      signal: options.signal,
    });
    return (await response.json()) as { entries: number; bytes: number };
  }

  /** A directory or file as a tar stream, made while it is read. */
  async download(path: FilePath, options: FileOptions = {}): Promise<ReadableStream<Uint8Array>> {
    const response = await this.#context.http.stream('GET', `${this.#base}/archive`, {
      query: where(path, options),
      signal: options.signal,
    });
    return toReadable(bodyOf(response, options.signal));
  }

  #content(path: FilePath, options: ReadOptions): Promise<Response> {
    const headers = range(options);
    return this.#context.http.stream('GET', `${this.#base}/content`, {
      query: where(path, options),
      headers,
      signal: options.signal,
    });
  }

  async #put(path: FilePath, data: Bytes | ByteStream | Blob, options: WriteOptions, extra: Query): Promise<Entry> {
    const { owner, exclusive, fsync, offset } = options;
    const mode = options.mode?.toString(8).padStart(3, '0');
    const metadata = options.metadata && Object.entries(options.metadata).map(([key, value]) => `${key}=${value}`);
    const query = { ...where(path, options), ...extra, mode, owner, exclusive, fsync, offset, metadata };
    const headers = { 'content-type': 'application/octet-stream' };
    const response = await this.#context.http.stream('PUT', `${this.#base}/content`, {
      query,
      body: data,
      headers,
      signal: options.signal,
    });
    return (await response.json()) as Entry;
  }

  #get<T>(path: string, query: Query, options: FileOptions): Promise<T> {
    return this.#context.http.json('GET', this.#base + path, { query, signal: options.signal });
  }

  #post<T>(path: string, json: unknown, options: FileOptions): Promise<T> {
    return this.#context.http.json('POST', this.#base + path, { json, signal: options.signal });
  }
}

const TAR = { 'content-type': 'application/x-tar' };

function where(path: FilePath, options: FileOptions): { path?: string; pathB64?: string; user?: string } {
  return {
    ...(typeof path === 'string' ? { path } : { pathB64: toBase64(path) }),
    ...(options.user !== undefined && { user: options.user }),
  };
}

function range({ offset = 0, length }: ReadOptions): Record<string, string> {
  if (offset === 0 && length === undefined) return {};
  if (length !== undefined && length < 1) throw new VivError('invalid_argument', `length is at least 1, not ${length}`);
  return { range: `bytes=${offset}-${length === undefined ? '' : offset + length - 1}` };
}
