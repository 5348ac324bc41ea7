import type { ErrorCode } from '@vivarium/protocol/error-codes.ts';
import { VivError } from '@vivarium/protocol/viv-error.ts';
import { type ByteStream, type Bytes, isByteStream, iterate, toBytes, toReadable } from './bytes.ts';
import type { Config } from './config.ts';
import { retry } from './retry.ts';

export type Query = Record<string, string | number | boolean | readonly string[] | undefined>;

export type RequestOptions = {
  query?: Query;
  /** Sent as JSON. */
  json?: unknown;
  headers?: Record<string, string>;
  signal?: AbortSignal | undefined;
  /** Makes a POST repeatable: the server returns the first result to a retry. */
  idempotencyKey?: string;
  /** A POST that may be made twice: the second does nothing more. */
  repeatable?: boolean;
  /** Longest wait for the answer; default the client's requestTimeoutMs. */
  timeoutMs?: number;
};

export type StreamRequestOptions = Omit<RequestOptions, 'json' | 'timeoutMs' | 'repeatable'> & {
  body?: Bytes | ByteStream | Blob;
};

/** Unary calls and byte streams over fetch. Every failure is a VivError, except that an aborted call throws the signal's reason. */
export class Http {
  readonly #config: Config;
  #running = 0;
  readonly #waiting: Array<() => void> = [];

  constructor(config: Config) {
    this.#config = config;
  }

  get baseUrl(): string {
    return this.#config.url;
  }

  /** One JSON request and answer. Repeats by itself only what is safe to repeat (not a POST without an idempotency key). */
  async json<T>(method: string, path: string, options: RequestOptions = {}): Promise<T> {
    const repeatable = method !== 'POST' || options.repeatable === true || options.idempotencyKey !== undefined;
    return retry(() => this.#once<T>(method, path, options), repeatable ? this.#config.retryMs : 0, options.signal);
  }

  /** A request whose body or answer is a stream: not repeated, no time limit, not counted against maxRequests. */
  async stream(method: string, path: string, options: StreamRequestOptions = {}): Promise<Response> {
    const { body, signal } = options;
    const init: RequestInit & { duplex?: 'half' } = { method, headers: this.#headers(options), signal: signal ?? null };
    if (!isByteStream(body)) {
      if (body !== undefined) init.body = body instanceof Blob ? body : (toBytes(body) as BodyInit);
      return this.#fetch(path, options.query, init);
    }
    let failure: { error: unknown } | undefined;
    const source = watched(body, (error) => {
      failure = { error };
    });
    // fetch hides what went wrong in the source of a body.
    return this.#fetch(path, options.query, { ...init, body: toReadable(source), duplex: 'half' } as RequestInit).catch(
      (error: unknown) => {
        throw failure && !signal?.aborted ? failure.error : error;
      },
    );
  }

  authorization(): Record<string, string> {
    return this.#config.apiKey === undefined ? {} : { authorization: `Bearer ${this.#config.apiKey}` };
  }

  async #once<T>(method: string, path: string, options: RequestOptions): Promise<T> {
    await this.#enter(options.signal);
    try {
      const limit = AbortSignal.timeout(options.timeoutMs ?? this.#config.requestTimeoutMs);
      const signal = options.signal ? AbortSignal.any([options.signal, limit]) : limit;
      const init: RequestInit = { method, headers: this.#headers(options), signal };
      if (options.json !== undefined) init.body = JSON.stringify(options.json);
      const response = await this.#fetch(path, options.query, init);
      if (response.status === 204) return undefined as T;
      return (await response.json()) as T;
    } catch (error) {
      throw options.signal?.aborted ? options.signal.reason : asVivError(error, this.#config.url);
    } finally {
      this.#leave();
    }
  }

  async #fetch(path: string, query: Query | undefined, init: RequestInit): Promise<Response> {
    let response: Response;
    try {
      response = await this.#config.fetch(this.#config.url + path + queryString(query), init);
    } catch (error) {
      throw init.signal?.aborted ? init.signal.reason : asVivError(error, this.#config.url);
    }
    if (response.ok) return response;
    throw await errorOf(response);
  }

  #headers(options: RequestOptions): Record<string, string> {
    const headers: Record<string, string> = { ...this.authorization(), ...options.headers };
    if (options.json !== undefined) headers['content-type'] = 'application/json';
    if (options.idempotencyKey !== undefined) headers['idempotency-key'] = options.idempotencyKey;
    return headers;
  }

  async #enter(signal: AbortSignal | undefined): Promise<void> {
    signal?.throwIfAborted();
    if (this.#running < this.#config.maxRequests) this.#running++;
    else await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }

  #leave(): void {
    const next = this.#waiting.shift();
    if (next) next();
    else this.#running--;
  }
}

/** `?a=1&label=x&label=y`; undefined is left out. */
export function queryString(query: Query | undefined): string {
  if (!query) return '';
  const params = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value === undefined) continue;
    if (Array.isArray(value)) for (const item of value) params.append(name, item);
    else params.append(name, String(value));
  }
  const text = params.toString();
  return text === '' ? '' : `?${text}`;
}

/** The error a non-2xx answer carries. A proxy's own page becomes an error that names its status. */
export async function errorOf(response: Response): Promise<VivError> {
  const text = await response.text().catch(() => '');
  try {
    const body = JSON.parse(text) as { error?: { code?: unknown }; code?: unknown; message?: unknown };
    if (typeof body.error?.code === 'string') return VivError.fromBody(body);
    const plain = typeof body.code === 'number' ? PLAIN[body.code] : undefined;
    if (plain !== undefined && typeof body.message === 'string') return new VivError(plain, body.message);
  } catch {
    // Not JSON: no answer of ours.
  }
  const code =
    response.status === 502 || response.status === 503 || response.status === 504 ? 'server_unreachable' : 'internal';
  return new VivError(
    code,
    `HTTP ${response.status} from ${new URL(response.url).origin}: ${text.slice(0, 200) || response.statusText}`,
  );
}

/** Routes of E2B answer with a status and words. */
const PLAIN: Record<number, ErrorCode> = {
  400: 'invalid_argument',
  401: 'unauthenticated',
  403: 'forbidden',
  404: 'image_not_found',
  409: 'state_conflict',
  429: 'quota_exceeded',
};

/** fetch says only "fetch failed"; the reason is in its cause. */
export function asVivError(error: unknown, url: string): VivError {
  if (error instanceof VivError) return error;
  if (error instanceof SyntaxError)
    return new VivError('internal', `the answer of ${url} is no JSON`, { cause: error });
  if (error instanceof DOMException && error.name === 'TimeoutError') {
    return new VivError('request_timeout', `no answer from ${url} in time`, { cause: error });
  }
  const cause = (error as { cause?: { code?: string; message?: string } } | undefined)?.cause;
  const detail = cause?.code ?? cause?.message ?? (error instanceof Error ? error.message : String(error));
  if (cause?.code === 'UND_ERR_HEADERS_TIMEOUT' || cause?.code === 'UND_ERR_BODY_TIMEOUT') {
    return new VivError('request_timeout', `no answer from ${url} for 5 minutes`, { cause: error });
  }
  return BROKEN.has(cause?.code ?? '')
    ? new VivError('connection_lost', `the connection to ${url} broke (${detail})`, { cause: error })
    : new VivError('server_unreachable', `can't reach ${url} (${detail})`, { cause: error });
}

const BROKEN: ReadonlySet<string> = new Set([
  'ECONNRESET',
  'EPIPE',
  'UND_ERR_SOCKET',
  'UND_ERR_REQ_CONTENT_LENGTH_MISMATCH',
]);

/** The bytes of an answer as they come. One that breaks off is `connection_lost`, never a short success. */
export async function* bodyOf(response: Response, signal?: AbortSignal): AsyncGenerator<Uint8Array> {
  if (!response.body) return;
  try {
    yield* iterate(response.body);
  } catch (error) {
    if (signal?.aborted) throw signal.reason;
    const { origin } = new URL(response.url);
    throw new VivError('connection_lost', `the answer of ${origin} broke off`, { cause: error });
  }
}

async function* watched(source: ByteStream, onError: (error: unknown) => void): AsyncGenerator<Uint8Array> {
  try {
    yield* iterate(source);
  } catch (error) {
    onError(error);
    throw error;
  }
}
