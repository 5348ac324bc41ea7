import type { IncomingMessage, ServerResponse } from 'node:http';
import { VivError } from '@vivarium/protocol';
import type { z } from 'zod';
import { authenticate, authorize, presentedSecret } from '../../auth/authenticate.ts';
import { Answer, sendJson } from '../../http/answer.ts';
import { readJson } from '../../http/body.ts';
import { askForBody } from '../../http/expect.ts';
import { goneSignal } from '../../http/gone-signal.ts';
import { ownerOf } from '../../http/identity.ts';
import { check } from '../../http/issues.ts';
import { parseQuery } from '../../http/query.ts';
import { noRoute, Router } from '../../http/router.ts';
import type { RequestMetrics } from '../../metrics.ts';
import { ownEdge } from '../../tenancy/own-edge.ts';
import type { E2bContext } from '../context.ts';
import { sendE2bFailure } from '../error.ts';
import { sandboxId } from '../routing.ts';
import type { ControlCall, ControlRoute } from './control-call.ts';

export type ControlLimits = { maxBodyBytes: number; bodyTimeoutMs: number; idleTimeoutMs: number };

/** From a request of the control plane to its handler and back. Every error ends as `{code, message}`. */
export class ControlRouter {
  readonly #routes: Map<string, ControlRoute>;
  readonly #router: Router<string>;
  readonly #context: E2bContext;
  readonly #metrics: RequestMetrics;
  readonly #limits: ControlLimits;

  constructor(routes: readonly ControlRoute[], context: E2bContext, metrics: RequestMetrics, limits: ControlLimits) {
    this.#routes = new Map(routes.map((route) => [`${route.method} ${route.path}`, route]));
    this.#router = new Router(Object.fromEntries(this.#routes));
    this.#context = context;
    this.#metrics = metrics;
    this.#limits = limits;
  }

  async handle(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const startedMs = performance.now();
    let id: string | undefined;
    try {
      const [path = '', search = ''] = (req.url ?? '/').split(/\?(.*)/s, 2);
      const match = this.#router.match(req.method ?? 'GET', path.length > 1 ? path.replace(/\/$/, '') : path);
      if (match.id === undefined) throw noRoute(req, path, match.allowed);
      id = match.id;
      await this.#answer(req, res, this.#routes.get(id)!, match.params, search);
    } catch (error) {
      sendE2bFailure(req, res, error, this.#context.log);
    }
    this.#metrics.observe(`e2b ${id ?? 'none'}`, res.statusCode, performance.now() - startedMs);
  }

  async #answer(
    req: IncomingMessage,
    res: ServerResponse,
    route: ControlRoute,
    params: Record<string, string>,
    search: string,
  ): Promise<void> {
    const { body, query } = route;
    const who = this.#caller(req, route);
    const call: ControlCall = {
      context: this.#context,
      ...who,
      params: decoded(params),
      query: query && check(query, parseQuery(search, query)),
      body: body && (await this.#json(req, res, body)),
      req,
      res,
      signal: goneSignal(res),
    };
    if (!body) {
      req.socket.setTimeout(this.#limits.idleTimeoutMs);
      askForBody(req, res);
    }
    const result = await route.run(call);
    if (result instanceof Answer) await result.send(res);
    else if (result === undefined) res.writeHead(route.status).end();
    else sendJson(res, route.status, result);
  }

  async #json(req: IncomingMessage, res: ServerResponse, schema: z.ZodType): Promise<unknown> {
    askForBody(req, res);
    return check(schema, await readJson(req, this.#limits.maxBodyBytes, this.#limits.bodyTimeoutMs));
  }

  #caller(req: IncomingMessage, { auth }: ControlRoute): Pick<ControlCall, 'key' | 'owner' | 'edge'> {
    const { keys, edge } = this.#context;
    if (auth === 'none') return { edge } as Pick<ControlCall, 'key' | 'owner' | 'edge'>;
    const key = authenticate(keys, presentedSecret(req.headers));
    authorize(key, ['sandboxes']);
    return { key, owner: ownerOf(key), edge: ownEdge(edge, key) };
  }
}

function decoded(raw: Record<string, string>): Record<string, string> {
  const params: Record<string, string> = {};
  for (const [name, value] of Object.entries(raw)) {
    try {
      params[name] = decodeURIComponent(value);
    } catch {
      throw new VivError('invalid_argument', `${name} "${value.slice(0, 100)}" is not URL-encoded UTF-8`);
    }
  }
  if (params.sandboxID !== undefined) params.sandboxID = sandboxId(params.sandboxID);
  return params;
}
