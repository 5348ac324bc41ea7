import type {
  FnLanguage,
  FnPool,
  FnRequestInput,
  FnSession as FnSessionInfo,
  FnWarmInput,
  FnResult as FnWire,
} from '@vivarium/protocol/fn.ts';
import { VivError } from '@vivarium/protocol/viv-error.ts';
import { type Bytes, toBase64, toBytes } from './bytes.ts';
import type { Context } from './context.ts';
import { defined } from './exec-options.ts';
import { FnResult } from './fn-result.ts';
import { Images } from './images.ts';
import { idempotencyKey } from './retry.ts';

export type FnFile = Bytes | { content: Bytes; mode?: number };
export type FnOptions = Omit<FnRequestInput, 'stdin' | 'files' | 'stateful'> & {
  /** What the program reads; then end of file. */
  stdin?: Bytes;
  /** Path, absolute or beneath `cwd`, and content. */
  files?: Readonly<Record<string, FnFile>>;
};
export type FnControl = {
  /** Names this call: the same key returns the first result. Default: a random one per call. */
  idempotencyKey?: string;
  signal?: AbortSignal;
  /** Throw `command_failed` unless it exits with 0. Default false. */
  throwOnError?: boolean;
};
export type FnSessionOptions = Omit<FnOptions, 'session'>;

/** Besides the time of its programs a call may wait for a container, and its answer takes its way. */
const WAIT_MS = 150_000;
/** fetch in Node gives up after 5 minutes without an answer. */
const ASK_AGAIN_MS = 240_000;
const TIMEOUT_MS_DEFAULT = 30_000;

/**
 * Calls: code or a program runs once, in a container that was ready and that nothing else ran in.
 *
 * ```ts
 * const { stdout } = await viv.fn.run({ image: 'base/debian@12', language: 'python', code: 'print(6 * 7)' });
 * ```
 */
export class Fn {
  readonly #context: Context;

  constructor(context: Context) {
    this.#context = context;
  }

  /** Runs once, also when the answer got lost and the call was repeated. The first use of the base image on a node makes that image. */
  async run(options: FnOptions, control: FnControl = {}): Promise<FnResult> {
    const key = control.idempotencyKey ?? idempotencyKey();
    const { signal } = control;
    const call = () => this.#call(wireOf(options), key, signal);
    const result = new FnResult(await new Images(this.#context).withBase(call, defined({ signal })));
    return control.throwOnError ? result.check() : result;
  }

  /** Calls that share a container, one after the other. Without a name one is made up. Nothing is made before its first call. */
  session(options: FnSessionOptions & { name?: string }): FnSession {
    const { name = idempotencyKey(), ...rest } = options;
    return new FnSession(this, name, rest);
  }

  /** Keeps containers ready; resolves when they are. */
  warm(request: FnWarmInput): Promise<FnPool> {
    const call = () => this.#context.http.json<FnPool>('POST', '/v1/fn/warm', { json: request, repeatable: true });
    return new Images(this.#context).withBase(call);
  }

  async pools(): Promise<FnPool[]> {
    return (await this.#context.http.json<{ items: FnPool[] }>('GET', '/v1/fn/pools')).items;
  }

  /** What an image can run; the first time it is looked into. */
  async languages(image: string): Promise<FnLanguage[]> {
    const { http } = this.#context;
    const call = () => http.json<{ items: FnLanguage[] }>('GET', '/v1/fn/languages', { query: { image } });
    return (await new Images(this.#context).withBase(call)).items;
  }

  async sessions(): Promise<FnSessionInfo[]> {
    return (await this.#context.http.json<{ items: FnSessionInfo[] }>('GET', '/v1/fn/sessions')).items;
  }

  /** `session_not_found` when there is none (any more). */
  async endSession(name: string): Promise<void> {
    await this.#context.http.json('DELETE', `/v1/fn/sessions/${encodeURIComponent(name)}`);
  }

  /** A call that outlasts one request is asked for again under its key, which brings the first result. */
  async #call(json: FnRequestInput, key: string, signal: AbortSignal | undefined): Promise<FnWire> {
    const { timeoutMs = TIMEOUT_MS_DEFAULT, compileTimeoutMs = TIMEOUT_MS_DEFAULT } = json;
    const until = Date.now() + timeoutMs + compileTimeoutMs + WAIT_MS;
    for (;;) {
      const leftMs = until - Date.now();
      try {
        const options = { json, idempotencyKey: key, signal, timeoutMs: Math.min(leftMs, ASK_AGAIN_MS) };
        return await this.#context.http.json<FnWire>('POST', '/v1/fn', options);
      } catch (error) {
        const late = error instanceof VivError && error.code === 'request_timeout' && until - Date.now() > 1000;
        if (!late) throw error;
      }
    }
  }
}

/** A container that lives on from call to call. It ends with `end()`, or some time after its last call. */
export class FnSession implements AsyncDisposable {
  readonly name: string;
  readonly #fn: Fn;
  readonly #options: FnSessionOptions;

  constructor(fn: Fn, name: string, options: FnSessionOptions) {
    this.#fn = fn;
    this.name = name;
    this.#options = options;
  }

  /** What is given here comes before what the session was given. */
  run(options: Partial<FnSessionOptions>, control: FnControl = {}): Promise<FnResult> {
    return this.#fn.run({ ...this.#options, ...options, session: this.name }, control);
  }

  /** Ends it and its container; nothing happens when it has ended. */
  async end(): Promise<void> {
    await this.#fn.endSession(this.name).catch((error: unknown) => {
      if (!(error instanceof VivError && error.code === 'session_not_found')) throw error;
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.end();
  }
}

function wireOf({ stdin, files = {}, ...rest }: FnOptions): FnRequestInput {
  const parts = Object.entries(files).map(([path, file]) => {
    const { content, mode } = isContent(file) ? { content: file, mode: undefined } : file;
    return { path, contentB64: toBase64(toBytes(content)), ...defined({ mode }) };
  });
  return {
    ...(defined(rest) as FnRequestInput),
    ...(stdin !== undefined && { stdin: toBase64(toBytes(stdin)) }),
    ...(parts.length > 0 && { files: parts }),
  };
}

function isContent(file: FnFile): file is Bytes {
  return typeof file === 'string' || file instanceof Uint8Array || file instanceof ArrayBuffer;
}
