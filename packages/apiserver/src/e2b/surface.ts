import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { VivError } from '@vivarium/protocol';
import type { Gateway } from '../gateway/gateway.ts';
import type { RequestMetrics } from '../metrics.ts';
import type { E2bContext } from './context.ts';
import { type ControlLimits, ControlRouter } from './control/router.ts';
import { CONTROL_ROUTES } from './control/routes.ts';
import { allowE2bOrigins } from './cors.ts';
import { EnvdServer } from './envd/envd-server.ts';
import { sendE2bFailure } from './error.ts';
import { portDoor } from './port-door.ts';
import { type E2bTarget, ENVD_PORT, e2bTarget } from './routing.ts';

/** What speaks E2B's protocols: its control plane, envd of every sandbox, and the ports by header and by host name. */
export class E2bSurface {
  readonly #context: E2bContext;
  readonly #control: ControlRouter;
  readonly #envd: EnvdServer;
  readonly #gateway: Gateway;
  readonly #door: ReturnType<typeof portDoor>;

  constructor(context: E2bContext, gateway: Gateway, metrics: RequestMetrics, limits: ControlLimits) {
    this.#context = context;
    this.#gateway = gateway;
    this.#control = new ControlRouter(CONTROL_ROUTES, context, metrics, limits);
    this.#envd = new EnvdServer(context);
    this.#door = portDoor(context);
  }

  /** What of E2B's the request is for; undefined: nothing. Throws `invalid_argument`. */
  target(req: IncomingMessage): E2bTarget | undefined {
    return e2bTarget(req, this.#context.domain);
  }

  handle(req: IncomingMessage, res: ServerResponse, target: E2bTarget): void {
    const ours = target.kind !== 'port' || target.port === ENVD_PORT;
    if (ours && allowE2bOrigins(req, res)) return;
    if (target.kind === 'control') void this.#control.handle(req, res);
    else if (target.kind === 'signed') this.#signed(req, res);
    else if (target.port === ENVD_PORT) void this.#envd.handle(req, res, target.id);
    else void this.#gateway.handle(req, res, this.#inner(req, target), this.#door);
  }

  /** WebSockets lead to ports only. Throws `route_not_found`. */
  upgrade(req: IncomingMessage, socket: Duplex, head: Buffer, target: E2bTarget): void {
    if (target.kind !== 'port' || target.port === ENVD_PORT)
      throw new VivError('route_not_found', `no WebSocket is at ${req.url?.split('?')[0]?.slice(0, 200)}`);
    void this.#gateway.upgrade(req, socket, head, this.#inner(req, target), this.#door);
  }

  #inner(req: IncomingMessage, { id, port }: { id: string; port: number }) {
    return { id, port, path: req.url ?? '/', prefix: '' };
  }

  #signed(req: IncomingMessage, res: ServerResponse): void {
    const failure = new VivError('unauthenticated', 'the URL names no sandbox and its signature belongs to none');
    sendE2bFailure(req, res, failure, this.#context.log);
  }
}
