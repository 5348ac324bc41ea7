import type { IncomingMessage, ServerResponse } from 'node:http';
import type { ErrorCode, VivError } from '@vivarium/protocol';
import type { Logger } from 'pino';
import { presentable, sendRefusal } from '../http/failure.ts';
import { errorPage, wantsPage } from './error-page.ts';

/** Codes of the Connect protocol that are sent here, with their HTTP status (connectrpc.com, protocol reference). */
const RPC_STATUS = {
  canceled: 499,
  invalid_argument: 400,
  deadline_exceeded: 504,
  not_found: 404,
  already_exists: 409,
  permission_denied: 403,
  resource_exhausted: 429,
  failed_precondition: 400,
  unimplemented: 501,
  internal: 500,
  unavailable: 503,
  unauthenticated: 401,
} as const;
export type RpcCode = keyof typeof RPC_STATUS;

/** Where a status alone does not say enough. */
const RPC_CODE: Partial<Record<ErrorCode, RpcCode>> = {
  disk_full: 'resource_exhausted',
  path_exists: 'already_exists',
  sandbox_dead: 'unavailable',
  sandbox_lost: 'unavailable',
  sandbox_paused: 'unavailable',
  exec_not_running: 'not_found',
  spawn_failed: 'resource_exhausted',
  connection_lost: 'unavailable',
  directory_not_empty: 'failed_precondition',
  user_unknown: 'unauthenticated',
};
const RPC_OF_STATUS: Record<number, RpcCode> = {
  400: 'invalid_argument',
  401: 'unauthenticated',
  403: 'permission_denied',
  404: 'not_found',
  409: 'failed_precondition',
  413: 'resource_exhausted',
  422: 'invalid_argument',
  429: 'resource_exhausted',
  501: 'unimplemented',
  503: 'unavailable',
  504: 'deadline_exceeded',
};
/** Where E2B's clients look for another status than the native one. */
const HTTP_STATUS: Partial<Record<ErrorCode, number>> = {
  sandbox_dead: 404,
  sandbox_lost: 404,
  unsupported: 400,
  output_limit: 500,
  command_failed: 500,
};

/** Status of a JSON answer `{code, message}`, the control plane's and that of /files. */
export function e2bStatus(error: VivError): number {
  return HTTP_STATUS[error.code] ?? error.status;
}

/** The same error as an RPC client reads it, with the status of a unary answer. */
export function rpcFailure(error: VivError): { status: number; code: RpcCode; message: string } {
  const code = RPC_CODE[error.code] ?? RPC_OF_STATUS[error.status] ?? 'internal';
  return { status: RPC_STATUS[code], code, message: error.message };
}

/** Answers with `{code, message}`: clients branch on that code. */
export function sendE2bFailure(req: IncomingMessage, res: ServerResponse, thrown: unknown, log: Logger): void {
  const error = presentable(thrown, log, { method: req.method, path: req.url?.split('?')[0] });
  const code = e2bStatus(error);
  // Clients take whole seconds only, and try again for 429 alone.
  const headers: Record<string, string> = code === 429 || code === 503 ? { 'retry-after': '1' } : {};
  sendRefusal(req, res, code, { code, message: error.message }, headers);
}

/** Turns down a unary RPC, or a stream before its first frame. */
export function sendRpcRefusal(req: IncomingMessage, res: ServerResponse, thrown: unknown, log: Logger): void {
  const error = presentable(thrown, log, { method: req.method, path: req.url?.split('?')[0] });
  const { status, code, message } = rpcFailure(error);
  sendRefusal(req, res, status, { code, message });
}

/** What stands for a sandbox that is dead, paused or was never there; clients read the status. */
export function sendUnreachable(req: IncomingMessage, res: ServerResponse, sandboxId: string): void {
  const message = 'The sandbox was not found';
  if (wantsPage(req)) return sendPage(req, res, 502, errorPage('Sandbox Not Found', sandboxId, `${message}.`));
  sendRefusal(req, res, 502, { sandboxId, message, code: 502 });
}

/** The sandbox runs, but nothing listens there. */
export function sendClosedPort(req: IncomingMessage, res: ServerResponse, sandboxId: string, port: number): void {
  const message = 'The sandbox is running but port is not open';
  if (wantsPage(req)) {
    const text = `The sandbox is running, but nothing listens on its port ${port}.`;
    return sendPage(req, res, 502, errorPage('Closed Port Error', sandboxId, text));
  }
  sendRefusal(req, res, 502, { sandboxId, message, port, code: 502 });
}

/** Its ports are not public. */
export function sendTrafficRefused(
  req: IncomingMessage,
  res: ServerResponse,
  sandboxId: string,
  message: string,
): void {
  sendRefusal(req, res, 403, { sandboxId, message, code: 403 });
}

function sendPage(req: IncomingMessage, res: ServerResponse, status: number, page: string): void {
  if (res.headersSent || res.destroyed) return sendRefusal(req, res, status, {});
  res.writeHead(status, { 'content-type': 'text/html; charset=utf-8', 'content-length': Buffer.byteLength(page) });
  res.end(req.method === 'HEAD' ? undefined : page);
}
