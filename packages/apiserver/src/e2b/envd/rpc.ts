import type { ServerResponse } from 'node:http';
import { VivError } from '@vivarium/protocol';
import { presentable, sendRefusal } from '../../http/failure.ts';
import { rpcFailure } from '../error.ts';
import type { EnvdCall, RpcTable, Streaming, Unary, Upload } from './envd-call.ts';
import { readMany, readOne, readUnary } from './rpc-input.ts';
import { isMedia, mediaOf, timeoutOf } from './rpc-media.ts';
import { RpcOutput } from './rpc-output.ts';

/** Is there such a method? */
export function hasRpc(table: RpcTable, path: string): boolean {
  return Object.hasOwn(table, path);
}

/**
 * Answers one call of the Connect protocol with JSON messages (connectrpc.com, protocol reference): unary ones as plain JSON, streams as
 * enveloped frames with a last frame that holds the error. Never rejects.
 */
export async function serveRpc(table: RpcTable, call: EnvdCall, path: string): Promise<void> {
  const { req, res } = call;
  const method = hasRpc(table, path) ? table[path]! : undefined;
  if (!method) return refuse(call, 404, 'unimplemented', `there is no method ${path}`);
  if (req.method !== 'POST') return refuse(call, 405, 'unimplemented', `${path} is called by POST`, { allow: 'POST' });
  const media = mediaOf(method);
  if (!isMedia(req, media)) {
    const message = `${path} takes ${media}, not "${req.headers['content-type'] ?? ''}"`;
    return refuse(call, 415, 'unknown', message, { 'accept-post': media });
  }
  if (method.kind === 'unary') return serveUnary(call, method, path);
  const output = new RpcOutput(res, null, req.headers['keepalive-ping-interval']);
  return method.kind === 'stream' ? serveStream(call, method, path) : serveUpload(call, method, output, path);
}

async function serveUnary(call: EnvdCall, method: Unary, path: string): Promise<void> {
  const { req, res } = call;
  try {
    const message = await readUnary(req, method);
    const answer = await within(call, timeoutOf(req), path, async (inner) => method.run(inner, message));
    sendJson(res, answer);
  } catch (thrown) {
    const { status, code, message } = failureOf(call, thrown, path);
    sendRefusal(req, res, status, { code, message });
  }
}

async function serveStream(call: EnvdCall, method: Streaming, path: string): Promise<void> {
  const { req, res } = call;
  let output = new RpcOutput(res, null, undefined);
  try {
    const timeoutMs = timeoutOf(req);
    output = new RpcOutput(res, timeoutMs, req.headers['keepalive-ping-interval']);
    const message = await readOne(req, method);
    await within(call, timeoutMs, path, (inner) => method.run(inner, message, output));
    output.end();
  } catch (thrown) {
    endWith(call, output, thrown, path);
  }
}

async function serveUpload(call: EnvdCall, method: Upload, output: RpcOutput, path: string): Promise<void> {
  const { req } = call;
  try {
    const answer = await within(call, timeoutOf(req), path, (inner) => method.run(inner, readMany(req, method)));
    output.send(answer);
    output.end();
  } catch (thrown) {
    endWith(call, output, thrown, path);
  }
}

/** A stream in the middle of which the sandbox goes is cut; else its last frame says what was wrong. */
function endWith(call: EnvdCall, output: RpcOutput, thrown: unknown, path: string): void {
  const gone = thrown instanceof VivError && (thrown.code === 'sandbox_dead' || thrown.code === 'sandbox_lost');
  if (output.begun && gone) output.cut();
  else output.end(failureOf(call, thrown, path));
}

/** Runs with the call's deadline: when it is over the signal is aborted and the call ends, whatever the method does. */
async function within<T>(
  call: EnvdCall,
  timeoutMs: number | null,
  path: string,
  run: (call: EnvdCall) => Promise<T>,
): Promise<T> {
  if (timeoutMs === null) return run(call);
  const controller = new AbortController();
  const onGone = () => controller.abort(call.signal.reason);
  call.signal.addEventListener('abort', onGone, { once: true });
  if (call.signal.aborted) onGone();
  const over = Promise.withResolvers<never>();
  // Longer than a timer can be is no limit in practice: 24 days.
  const timer = setTimeout(
    () => {
      const error = new VivError('request_timeout', `${path} ran longer than ${timeoutMs} ms`);
      controller.abort(error);
      over.reject(error);
    },
    Math.min(timeoutMs, 2 ** 31 - 1),
  );
  try {
    const running = run({ ...call, signal: controller.signal });
    running.catch(() => {});
    return await Promise.race([running, over.promise]);
  } finally {
    clearTimeout(timer);
    call.signal.removeEventListener('abort', onGone);
  }
}

function failureOf({ context, req }: EnvdCall, thrown: unknown, path: string): ReturnType<typeof rpcFailure> {
  return rpcFailure(presentable(thrown, context.log, { method: req.method, path }));
}

function sendJson(res: ServerResponse, answer: object): void {
  if (res.destroyed || res.writableEnded) return;
  const body = JSON.stringify(answer);
  res.statusCode = 200;
  res.setHeader('content-type', 'application/json');
  res.setHeader('content-length', Buffer.byteLength(body));
  res.end(body);
}

function refuse(
  { req, res }: EnvdCall,
  status: number,
  code: string,
  message: string,
  headers: Record<string, string> = {},
): void {
  sendRefusal(req, res, status, { code, message }, headers);
}
