import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { pino } from 'pino';
import { E2bStore } from '../e2b/store.ts';
import { type ApiServerOptions, createApiServer, SqliteKeyStore } from '../index.ts';
import { FakeEdge } from './fake-edge.ts';

/** A server over a fake edge on a free port, closed with `await using`. */
export async function served(options: Partial<ApiServerOptions> = {}) {
  const edge = new FakeEdge();
  const keys = new SqliteKeyStore(new DatabaseSync(':memory:'));
  const lines: string[] = [];
  const log = pino({ level: 'error' }, { write: (line: string) => void lines.push(line) });
  const directory = mkdtempSync(join(tmpdir(), 'viv-served-'));
  const store = new E2bStore(join(directory, 'e2b.db'));
  const e2b = { store, directory };
  const server = await createApiServer({ edge, keys, host: '127.0.0.1', port: 0, log, graceMs: 200, e2b, ...options });
  const secret = keys.create({ name: 'test', scopes: ['sandboxes', 'images', 'admin'] }).secret!;

  const call = async (method: string, path: string, body?: unknown, headers: Record<string, string> = {}) => {
    const sent =
      body === undefined || typeof body === 'string' || body instanceof Uint8Array
        ? (body as string | undefined)
        : JSON.stringify(body);
    const response = await fetch(server.url + path, {
      method,
      headers: { authorization: `Bearer ${secret}`, ...headers },
      ...(sent !== undefined && { body: sent }),
      redirect: 'manual',
    });
    const text = await response.text();
    return { status: response.status, headers: response.headers, text, json: parsed(text) };
  };
  const create = async () =>
    (await call('POST', '/v1/sandboxes', { image: 'base/debian@12' })).json as { id: string; token: string };
  const close = async () => {
    await server.close();
    store.close();
    rmSync(directory, { recursive: true, force: true });
  };
  return { ...server, edge, keys, store, secret, log: lines, call, create, close, [Symbol.asyncDispose]: close };
}

export type Served = Awaited<ReturnType<typeof served>>;

// biome-ignore lint/suspicious/noExplicitAny: answers are looked into by tests only
function parsed(text: string): any {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
