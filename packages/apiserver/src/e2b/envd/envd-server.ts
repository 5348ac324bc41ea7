import type { IncomingMessage, ServerResponse } from 'node:http';
import { type Sandbox, VivError } from '@vivarium/protocol';
import { goneSignal } from '../../http/gone-signal.ts';
import type { RequestMetrics } from '../../metrics.ts';
import type { E2bContext } from '../context.ts';
import { factsOf } from '../control/sandbox-view.ts';
import { sendE2bFailure, sendRpcRefusal, sendUnreachable } from '../error.ts';
import { sameSecret } from '../same-secret.ts';
import { awake, reachable } from '../wake.ts';
import type { EnvdCall } from './envd-call.ts';
import { type EnvdHttp, HTTP_METHODS, RPC_METHODS } from './methods.ts';
import { hasRpc, serveRpc } from './rpc.ts';

/** What answers on port 49983 of every sandbox: nothing of ours runs inside, so it is answered here. */
export class EnvdServer {
  readonly #context: E2bContext;
  readonly #metrics: RequestMetrics;

  constructor(context: E2bContext, metrics: RequestMetrics) {
    this.#context = context;
    this.#metrics = metrics;
  }

  async handle(req: IncomingMessage, res: ServerResponse, id: string): Promise<void> {
    const startedMs = performance.now();
    const path = (req.url ?? '/').split('?', 1)[0]!;
    const at = `${req.method === 'HEAD' ? 'GET' : req.method} ${path}`;
    const http = Object.hasOwn(HTTP_METHODS, at) ? HTTP_METHODS[at] : undefined;
    try {
      await this.#answer(req, res, id, path, http);
    } catch (error) {
      // Disconnected meanwhile: there is nobody to tell.
      const told = res.writableEnded || res.destroyed;
      if (!told && http) sendE2bFailure(req, res, error, this.#context.log);
      else if (!told) sendRpcRefusal(req, res, error, this.#context.log);
    }
    const route = http ? at : hasRpc(RPC_METHODS, path) ? path : 'none';
    this.#metrics.observe(`envd ${route}`, res.statusCode, performance.now() - startedMs);
  }

  async #answer(
    req: IncomingMessage,
    res: ServerResponse,
    id: string,
    path: string,
    http: EnvdHttp | undefined,
  ): Promise<void> {
    const asleep = reachable(this.#context, id);
    if (!asleep) return sendUnreachable(req, res, id);
    // Nobody wakes it who may not come in.
    const mayWake = this.#admit(req, asleep, http);
    if (asleep.state !== 'running' && !mayWake) return sendUnreachable(req, res, id);
    const sandbox = await awake(this.#context, id);
    if (!sandbox) return sendUnreachable(req, res, id);
    const call = this.#call(req, res, sandbox, http !== undefined);
    if (http) await http.run(call);
    else await serveRpc(RPC_METHODS, call, path);
  }

  /** May the request wake the sandbox? Throws `unauthenticated`. */
  #admit(req: IncomingMessage, sandbox: Sandbox, http: EnvdHttp | undefined): boolean {
    const { secure, network } = factsOf(this.#context, sandbox);
    if (!secure) return true;
    const token = this.#context.edge.sandboxes.token(sandbox.id);
    if (http?.admit) {
      http.admit(req, token);
      return true;
    }
    const given = req.headers['x-access-token'];
    const shown = typeof given === 'string' && sameSecret(given, token);
    // Where the ports are public anybody wakes it anyway.
    if (http?.open) return shown || network?.allowPublicTraffic !== false;
    if (shown) return true;
    throw new VivError('unauthenticated', 'the header X-Access-Token does not hold the access token of this sandbox');
  }

  #call(req: IncomingMessage, res: ServerResponse, sandbox: Sandbox, http: boolean): EnvdCall {
    // What is signed is the query.
    const user = (http ? queryUser(req) : basicUser(req)) ?? factsOf(this.#context, sandbox).user;
    return { context: this.#context, sandbox: sandbox.id, user, req, res, signal: goneSignal(res) };
  }
}

/** Whom an RPC method acts as: `Authorization: Basic base64("user:")`. */
function basicUser(req: IncomingMessage): string | undefined {
  const basic = /^basic\s+(\S+)$/i.exec(req.headers.authorization ?? '')?.[1];
  if (basic === undefined) return queryUser(req);
  return Buffer.from(basic, 'base64').toString('utf8').split(':', 1)[0] || undefined;
}

function queryUser(req: IncomingMessage): string | undefined {
  return new URLSearchParams(req.url?.split('?')[1] ?? '').get('username') || undefined;
}
