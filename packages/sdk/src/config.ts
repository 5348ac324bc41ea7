import { VivError } from '@vivarium/protocol/viv-error.ts';

export type VivariumOptions = {
  /** Base URL of the server. Default: environment `VIV_URL`, else http://127.0.0.1:7700. */
  url?: string;
  /** API key. Default: environment `VIV_API_KEY`. */
  apiKey?: string;
  /** How long failed connections and refusals that can heal are retried, with jittered backoff. Default 15,000 ms; 0: never. */
  retryMs?: number;
  /** How long a broken connection may take to come back before its running streams fail. Default 60,000 ms. */
  reconnectMs?: number;
  /** Longest wait for the answer to one short request. Default 120,000 ms. */
  requestTimeoutMs?: number;
  /** HTTP requests in flight at once; more wait. Default 128. */
  maxRequests?: number;
  /** Replaces the global fetch, for proxies and tests. */
  fetch?: typeof globalThis.fetch;
};

export type Config = Required<Omit<VivariumOptions, 'apiKey'>> & { apiKey: string | undefined };

export const DEFAULT_URL = 'http://127.0.0.1:7700';

/** Fills in defaults: options, then environment. Throws `invalid_argument` for a URL that is none. */
export function resolveConfig(options: VivariumOptions = {}): Config {
  const url = options.url ?? environment('VIV_URL') ?? DEFAULT_URL;
  if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol)) {
    throw new VivError('invalid_argument', `url is no http(s) URL: ${url}`);
  }
  return {
    url: url.replace(/\/+$/, ''),
    apiKey: options.apiKey ?? environment('VIV_API_KEY'),
    retryMs: options.retryMs ?? 15_000,
    reconnectMs: options.reconnectMs ?? 60_000,
    requestTimeoutMs: options.requestTimeoutMs ?? 120_000,
    maxRequests: options.maxRequests ?? 128,
    fetch: options.fetch ?? globalThis.fetch.bind(globalThis),
  };
}

/** Node, Bun and Deno have `process.env` (Deno may refuse to show it); browsers have none. */
function environment(name: string): string | undefined {
  try {
    return (globalThis as { process?: { env?: Record<string, string | undefined> } }).process?.env?.[name] || undefined;
  } catch {
    return undefined;
  }
}
