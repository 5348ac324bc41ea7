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
  /** Aborted when the client has gone before the answer was complete. */
  readonly signal: AbortSignal;
};

/** The sending side of a streaming call. */
export type RpcStream = {
  /** Resolves when the client has taken so much that more may come. */
  send(message: object): Promise<void> | void;
  /** Milliseconds from `Connect-Timeout-Ms`; null: none. */
  readonly timeoutMs: number | null;
};

/** One request message, one answer. */
export type Unary<In extends z.ZodType = z.ZodType> = {
  kind: 'unary';
  input: In;
  run(call: EnvdCall, message: z.output<In>): Promise<object> | object;
};

/** One request message, any number of answers; what it throws is the error of the last frame. */
export type Streaming<In extends z.ZodType = z.ZodType> = {
  kind: 'stream';
  input: In;
  run(call: EnvdCall, message: z.output<In>, stream: RpcStream): Promise<void>;
};

/** Methods by path, such as `/process.Process/List`. */
export type RpcTable = Readonly<Record<string, Unary | Streaming>>;

/** Keeps the type of the message between its schema and its handler. */
export const unary = <In extends z.ZodType>(input: In, run: Unary<In>['run']): Unary =>
  ({ kind: 'unary', input, run }) as unknown as Unary;

/** The same for streams. */
export const streaming = <In extends z.ZodType>(input: In, run: Streaming<In>['run']): Streaming =>
  ({ kind: 'stream', input, run }) as unknown as Streaming;
