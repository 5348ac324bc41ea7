/**
 * A node of its own for tests of the E2B surface, and what its published clients need to reach it. One port serves the control
 * plane and every sandbox; nothing needs a name service.
 */
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { UpOptions } from '@vivarium/node';
import { e2bSecret } from '@vivarium/sdk';
import { Sandbox, type SandboxOpts } from 'e2b';
import { linkE2bImages } from './e2b-image.ts';
import { linkInterpreterImages } from './interpreter-image.ts';
import { startTestNode, type TestNode } from './node.ts';

/** How a client is told where the node is. */
export type E2bConnection = { apiKey: string; apiUrl: string; sandboxUrl: string };

/** A node as its E2B clients reach it. */
export type E2bClient = {
  /** Options for any call of a client. */
  readonly connection: E2bConnection;
  /** The same as environment variables, for programs of their own. */
  readonly env: Record<'E2B_API_KEY' | 'E2B_API_URL' | 'E2B_SANDBOX_URL' | 'E2B_VOLUME_API_URL', string>;
  /** A sandbox of the template `base`, or of the one that `options` name. */
  create(options?: SandboxOpts & { template?: string }): Promise<Sandbox>;
  /** A call of the control plane as no client would make it. */
  call(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<E2bAnswer>;
};

export type E2bNode = E2bClient & {
  readonly node: TestNode;
  /** Ends the sandboxes and the node, and deletes its state. */
  close(): Promise<void>;
};

/** JSON, or text where it is none; tests look into it without a schema. */
// biome-ignore lint/suspicious/noExplicitAny: assertions say what it holds.
type Body = any;

export type E2bAnswer = { status: number; headers: Headers; body: Body };

/**
 * A fresh node with the image of the template `base`, and that of `code-interpreter-v1` where `interpreter` is set. Clients without
 * options of their own in this process reach it too.
 */
export async function startE2bNode({
  interpreter = false,
  ...options
}: {
  interpreter?: boolean;
  port?: number;
  up?: Partial<UpOptions>;
} = {}): Promise<E2bNode> {
  const stateDir = mkdtempSync(join(tmpdir(), 'viv-node-'));
  (interpreter ? linkInterpreterImages : linkE2bImages)(stateDir);
  const node = await startTestNode({ ...options, image: false, stateDir });
  return { ...connectionTo(node), node, close: () => node.purge() };
}

/** Reaches a node that runs; sets the clients' environment variables in this process. */
export function connectionTo({ url, key }: { url: string; key: string }): E2bClient {
  const connection = { apiKey: e2bSecret(key), apiUrl: url, sandboxUrl: url };
  const env = { E2B_API_KEY: connection.apiKey, E2B_API_URL: url, E2B_SANDBOX_URL: url, E2B_VOLUME_API_URL: url };
  Object.assign(process.env, env);
  return {
    connection,
    env,
    create: async ({ template = 'base', ...options } = {}) =>
      await Sandbox.create(template, { ...connection, ...options }),
    call: async (method, path, body, headers = {}) => await call(connection, method, path, body, headers),
  };
}

async function call(
  { apiKey, apiUrl }: E2bConnection,
  method: string,
  path: string,
  body: unknown,
  extra: Record<string, string>,
): Promise<E2bAnswer> {
  const init: RequestInit = { method, headers: { 'x-api-key': apiKey, ...extra } };
  if (body !== undefined) {
    init.headers = { 'content-type': 'application/json', ...init.headers };
    init.body = JSON.stringify(body);
  }
  const response = await fetch(`${apiUrl}${path}`, init);
  const text = await response.text();
  return { status: response.status, headers: response.headers, body: parsed(text) };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
