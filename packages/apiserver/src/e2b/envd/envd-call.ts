import type { IncomingMessage, ServerResponse } from 'node:http';
import type { z } from 'zod';
import type { E2bContext } from '../context.ts';

/** A request to a sandbox's port 49983 that has shown the access token (or whose sandbox needs none). The sandbox is awake. */
export type EnvdCall = {
  readonly context: E2bContext;
  /** Id of the sandbox. */
  readonly sandbox: string;
  /** Who it acts as inside; the default user when the request names none. */
  readonly user: string;
  readonly req: IncomingMessage;
  readonly res: ServerResponse;
  /** Aborted when the client has gone before the answer was complete; in an RPC method also when its `Connect-Timeout-Ms` is over. */
  readonly signal: AbortSignal;
};

/** The sending side of a streaming call. */
export type RpcStream = {
  /** Resolves when the client has taken so much that more may come. */
  send(message: object): Promise<void> | void;
  /** The same for a message with one large field of bytes: its JSON is `before`, the bytes in base64, `after` (both ASCII). */
  sendBytes(before: string, bytes: Uint8Array, after: string): Promise<void> | void;
  /** Sends this whenever nothing else was sent for as long as the client says in `Keepalive-Ping-Interval` (seconds; default 90). */
  keepAlive(message: object): void;
  /** Milliseconds from `Connect-Timeout-Ms`; null: none. When they are over the codec ends the stream and aborts the call's signal. */
  readonly timeoutMs: number | null;
};

/** One request message, one answer. */
export type Unary<In extends z.ZodType = z.ZodType> = {
  kind: 'unary';
  input: In;
  /** Largest message in bytes, as sent; default 4 MiB. */
  maxBytes?: number;
  run(call: EnvdCall, message: z.output<In>): Promise<object> | object;
};

/** One request message, any number of answers; what it throws is the error of the last frame. */
export type Streaming<In extends z.ZodType = z.ZodType> = {
  kind: 'stream';
  input: In;
  maxBytes?: number;
  run(call: EnvdCall, message: z.output<In>, stream: RpcStream): Promise<void>;
};

/** Any number of request messages, one answer. */
export type Upload<In extends z.ZodType = z.ZodType> = {
  kind: 'upload';
  input: In;
  maxBytes?: number;
  run(call: EnvdCall, messages: AsyncIterable<z.output<In>>): Promise<object>;
};

export type RpcMethod = Unary | Streaming | Upload;

/** Methods by path, such as `/process.Process/List`. */
export type RpcTable = Readonly<Record<string, RpcMethod>>;

type Options = { maxBytes?: number };

/** Keeps the type of the message between its schema and its handler. */
export const unary = <In extends z.ZodType>(input: In, run: Unary<In>['run'], options: Options = {}): Unary =>
  ({ kind: 'unary', input, run, ...options }) as unknown as Unary;

/** The same for streams. */
export const streaming = <In extends z.ZodType>(
  input: In,
  run: Streaming<In>['run'],
  options: Options = {},
): Streaming => ({ kind: 'stream', input, run, ...options }) as unknown as Streaming;

/** The same for streams of requests. */
export const upload = <In extends z.ZodType>(input: In, run: Upload<In>['run'], options: Options = {}): Upload =>
  ({ kind: 'upload', input, run, ...options }) as unknown as Upload;
