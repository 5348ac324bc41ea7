import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Edge, Owner } from '@vivarium/edge/edge.ts';
import type { Key } from '@vivarium/protocol';
import type { z } from 'zod';
import type { Answer } from '../../http/answer.ts';
import type { E2bContext } from '../context.ts';

/** A request to the control plane, validated. On routes without a key, `key` and what follows from it stand for nobody: `edge` is then the whole node. */
export type ControlCall<Body = unknown, Query = unknown> = {
  readonly context: E2bContext;
  /** The node as this key may see it. */
  readonly edge: Edge;
  readonly key: Key;
  readonly owner: Owner;
  /** Decoded parts of the path. `sandboxID` is without a client's id behind it. */
  readonly params: Readonly<Record<string, string>>;
  readonly body: Body;
  readonly query: Query;
  readonly req: IncomingMessage;
  readonly res: ServerResponse;
  /** Aborted when the client has gone before the answer was complete. */
  readonly signal: AbortSignal;
};

export type ControlRoute = {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Such as `/sandboxes/{sandboxID}`. */
  path: string;
  /** Of the answer, unless the handler gives one of its own (http/answer.ts, withStatus). */
  status: number;
  /** `none`: the handler checks another secret, such as a volume's token. Default: an API key. */
  auth?: 'key' | 'none';
  /** JSON body. Without it the body is left to the handler. */
  body?: z.ZodType;
  query?: z.ZodObject;
  run(call: ControlCall): Answer | object | undefined | Promise<Answer | object | undefined>;
};

type Parts<Body extends z.ZodType, Query extends z.ZodObject> = Omit<ControlRoute, 'method' | 'path' | 'run'> & {
  body?: Body;
  query?: Query;
  run(
    call: ControlCall<z.output<Body>, z.output<Query>>,
  ): Answer | object | undefined | Promise<Answer | object | undefined>;
};

/** A route whose handler knows the types of its body and query. `route('POST /sandboxes', {…})` */
export function route<Body extends z.ZodType = z.ZodNever, Query extends z.ZodObject = z.ZodObject>(
  at: `${ControlRoute['method']} /${string}`,
  parts: Parts<Body, Query>,
): ControlRoute {
  const [method, path] = at.split(' ') as [ControlRoute['method'], string];
  return { ...parts, method, path } as unknown as ControlRoute;
}
