import type { IncomingMessage, ServerResponse } from 'node:http';
import { type ErrorCode, ImageName, type Key, VivError } from '@vivarium/protocol';
import { ROUTES, type Route, type RouteId } from '@vivarium/protocol/routes.ts';
import type { Logger } from 'pino';
import type { z } from 'zod';
import { authenticate, authorize, presentedSecret } from '../auth/authenticate.ts';
import type { RequestMetrics } from '../metrics.ts';
import { ownEdge } from '../tenancy/own-edge.ts';
import { Answer, sendJson } from './answer.ts';
import { readJson } from './body.ts';
import type { AllHandlers, Call, Services } from './call.ts';
import { askForBody } from './expect.ts';
import { sendFailure } from './failure.ts';
import { goneSignal } from './gone-signal.ts';
import { idempotencyOf, ownerOf } from './identity.ts';
import { check } from './issues.ts';
import { parseQuery } from './query.ts';
import { noRoute, Router } from './router.ts';

export type DispatcherOptions = {
  services: Services;
  handlers: AllHandlers;
  metrics: RequestMetrics;
  log: Logger;
  maxBodyBytes: number;
  /** Nothing moves on a streamed body for this long: cut. */
  idleTimeoutMs: number;
  bodyTimeoutMs: number;
};
type AnyHandler = (call: Call) => unknown;

const ID = /^[a-z0-9]{20}$/;
/** What a path parameter that can't be an id is answered with, by the route's tag. */
const NOT_FOUND: Record<string, ErrorCode> = {
  leases: 'lease_not_found',
  keys: 'key_not_found',
  images: 'image_not_found',
};

/** From a request to its handler and back: route, key, validation, answer. Every error ends as an error body. */
export class Dispatcher {
  readonly #router = new Router(ROUTES);
  readonly #queries = strictQueries();
  readonly #options: DispatcherOptions;

  constructor(options: DispatcherOptions) {
    this.#options = options;
  }

  async handle(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const startedMs = performance.now();
    let id: RouteId | undefined;
    try {
      const [path = '', search = ''] = splitUrl(req.url ?? '/');
      const match = this.#router.match(req.method ?? 'GET', path);
      if (match.id === undefined) throw noRoute(req, path, match.allowed);
      id = match.id;
      await this.#answer(req, res, id, match.params, search);
    } catch (error) {
      sendFailure(req, res, error, this.#options.log);
    }
    this.#options.metrics.observe(id ?? 'none', res.statusCode, performance.now() - startedMs);
  }

  async #answer(
    req: IncomingMessage,
    res: ServerResponse,
    id: RouteId,
    rawParams: Record<string, string>,
    search: string,
  ): Promise<void> {
    const route: Route = ROUTES[id];
    const { services, handlers } = this.#options;
    const key = route.scope === 'public' ? undefined : this.#authorized(req, route);
    const params = checkedParams(rawParams, route);
    const strict = this.#queries.get(id);
    const query = strict ? check(strict, parseQuery(search, strict)) : refuseQuery(search);
    if (route.body) askForBody(req, res);
    const body = route.body
      ? check(route.body, await readJson(req, this.#roomFor(route), this.#options.bodyTimeoutMs))
      : undefined;
    const given = req.headers['idempotency-key'];
    const idempotency =
      key && route.idempotent && typeof given === 'string'
        ? idempotencyOf(given, key, id, params.id ?? '', body)
        : undefined;
    const call = {
      ...services,
      edge: key ? ownEdge(services.edge, key) : services.edge,
      req,
      res,
      params,
      query,
      body,
      key,
      owner: key && ownerOf(key),
      idempotency,
      signal: undefined,
    } as unknown as Call;
    Object.defineProperty(call, 'signal', { get: () => goneSignal(res) });
    // Node takes this back with the next request on the connection.
    if (route.bodyStream || route.media) req.socket.setTimeout(this.#options.idleTimeoutMs);
    if (route.bodyStream) askForBody(req, res);
    const result = await (handlers[id] as AnyHandler)(call);
    if (result instanceof Answer) await result.send(res);
    else if (result === undefined) res.writeHead(route.status).end();
    else sendJson(res, route.status, result);
  }

  #roomFor({ maxBodyBytes = 0 }: Route): number {
    return Math.max(maxBodyBytes, this.#options.maxBodyBytes);
  }

  #authorized(req: IncomingMessage, route: Route): Key {
    const key = authenticate(this.#options.services.keys, presentedSecret(req.headers));
    if (route.scope !== 'public') authorize(key, route.scope);
    return key;
  }
}

/** Unknown query parameters are refused like unknown fields. */
function strictQueries(): Map<RouteId, z.ZodObject> {
  const queries = new Map<RouteId, z.ZodObject>();
  for (const [id, { query }] of Object.entries<Route>(ROUTES)) if (query) queries.set(id as RouteId, query.strict());
  return queries;
}

function splitUrl(url: string): [string, string] {
  const mark = url.indexOf('?');
  return mark < 0 ? [url, ''] : [url.slice(0, mark), url.slice(mark + 1)];
}

function checkedParams(raw: Record<string, string>, route: Route): Record<string, string> {
  const params = raw;
  if (params.id !== undefined && !ID.test(params.id))
    throw new VivError(NOT_FOUND[route.tag] ?? 'sandbox_not_found', `"${params.id.slice(0, 100)}" is not an id`);
  if (params.execId !== undefined && !ID.test(params.execId))
    throw new VivError('exec_not_found', `"${params.execId.slice(0, 100)}" is not an id`);
  if (params.name !== undefined) params.name = imageName(params.name);
  return params;
}

function imageName(encoded: string): string {
  let name = encoded;
  try {
    name = decodeURIComponent(encoded);
  } catch {
    // Falls through: what can't be decoded is no name either.
  }
  if (ImageName.safeParse(name).success) return name;
  throw new VivError('image_not_found', `"${name.slice(0, 200)}" is not the name of an image (name@version)`);
}

function refuseQuery(search: string): undefined {
  if (search === '') return undefined;
  const [name] = new URLSearchParams(search).keys();
  throw new VivError('unknown_field', `unknown query parameter "${name}": this operation has none`, {
    details: { field: name, known: [] },
  });
}
