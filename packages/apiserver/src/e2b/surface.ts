import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import type { Edge } from '@vivarium/edge/edge.ts';
import { VivError } from '@vivarium/protocol';
import type { Gateway } from '../gateway/gateway.ts';
import type { RequestMetrics } from '../metrics.ts';
import type { E2bContext } from './context.ts';
import { type ControlLimits, ControlRouter } from './control/router.ts';
import { CONTROL_ROUTES } from './control/routes.ts';
import { dropImages } from './control/snapshots.ts';
import { type Templates, templatesOf } from './control/templates-service.ts';
import { allowE2bOrigins } from './cors.ts';
import { EnvdServer } from './envd/envd-server.ts';
import { HTTP_METHODS } from './envd/methods.ts';
import { sendE2bFailure } from './error.ts';
import { OpenCalls } from './open-calls.ts';
import { portDoor } from './port-door.ts';
import { type E2bTarget, ENVD_PORT, e2bTarget } from './routing.ts';
import { SignedFiles } from './signed-files.ts';

/** How often what is known of sandboxes that the node has forgotten is dropped. */
const PRUNE_MS = 3_600_000;

/** What speaks E2B's protocols: its control plane, envd of every sandbox, and the ports by header and by host name. */
export class E2bSurface {
  readonly #context: E2bContext;
  readonly #control: ControlRouter;
  readonly #templates: Templates;
  readonly #envd: EnvdServer;
  readonly #files: SignedFiles;
  readonly #gateway: Gateway;
  readonly #door: ReturnType<typeof portDoor>;
  readonly #open: OpenCalls;
  readonly #pruning: NodeJS.Timeout;

  constructor(context: E2bContext, gateway: Gateway, metrics: RequestMetrics, limits: ControlLimits) {
    this.#context = context;
    this.#templates = templatesOf(context);
    this.#gateway = gateway;
    this.#control = new ControlRouter(CONTROL_ROUTES, context, metrics, limits);
    this.#envd = new EnvdServer(context, metrics);
    this.#files = new SignedFiles(context, signedBy);
    this.#door = portDoor(context);
    this.#open = new OpenCalls(context);
    this.#pruning = setInterval(() => void this.#prune(), PRUNE_MS);
    this.#pruning.unref();
    void this.#prune();
  }

  /** Before its store is closed. */
  async close(): Promise<void> {
    clearInterval(this.#pruning);
    this.#open.close();
    await this.#templates.close();
  }

  /** What of E2B's the request is for; undefined: nothing. Throws `invalid_argument`. */
  target(req: IncomingMessage): E2bTarget | undefined {
    return e2bTarget(req, this.#context.domain);
  }

  handle(req: IncomingMessage, res: ServerResponse, target: E2bTarget): void {
    // At its own host name a program inside answers browsers itself.
    const ours = target.kind !== 'port' || !target.byHost || target.port === ENVD_PORT;
    if (ours && allowE2bOrigins(req, res)) return;
    if (target.kind === 'control' || target.kind === 'preflight') void this.#control.handle(req, res);
    else if (target.kind === 'signed') void this.#signed(req, res);
    else this.#toSandbox(req, res, target);
  }

  #toSandbox(req: IncomingMessage, res: ServerResponse, target: { id: string; port: number }): void {
    this.#open.add(target.id, req, res);
    if (target.port === ENVD_PORT) void this.#envd.handle(req, res, target.id);
    else void this.#gateway.handle(req, res, this.#inner(req, target), this.#door);
  }

  /** WebSockets lead to ports only. Throws `route_not_found`. */
  upgrade(req: IncomingMessage, socket: Duplex, head: Buffer, target: E2bTarget): void {
    if (target.kind !== 'port' || target.port === ENVD_PORT)
      throw new VivError('route_not_found', `no WebSocket is at ${req.url?.split('?')[0]?.slice(0, 200)}`);
    this.#open.addSocket(target.id, socket);
    void this.#gateway.upgrade(req, socket, head, this.#inner(req, target), this.#door);
  }

  #inner(req: IncomingMessage, { id, port }: { id: string; port: number }) {
    return { id, port, path: req.url ?? '/', prefix: '' };
  }

  async #prune(): Promise<void> {
    const { store, edge, log } = this.#context;
    try {
      store.sandboxes.prune((id) => isKnown(edge, id));
      await dropImages(this.#context);
    } catch (err) {
      log.error({ err }, 'what E2B clients left behind could not be dropped');
    }
  }

  /** The request goes to the sandbox whose token its signature was made with. */
  async #signed(req: IncomingMessage, res: ServerResponse): Promise<void> {
    try {
      this.#toSandbox(req, res, { id: await this.#files.find(req), port: ENVD_PORT });
    } catch (error) {
      sendE2bFailure(req, res, error, this.#context.log);
    }
  }
}

/** Only what has a signature of this form is looked for. */
function signedBy(req: IncomingMessage, token: string): boolean {
  return HTTP_METHODS[`${req.method === 'HEAD' ? 'GET' : req.method} /files`]?.signedBy?.(req, token) ?? false;
}

function isKnown(edge: Edge, id: string): boolean {
  try {
    edge.sandboxes.get(id);
    return true;
  } catch {
    return false;
  }
}
