import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Edge, Idempotency, Owner } from '@vivarium/edge/edge.ts';
import type { Key } from '@vivarium/protocol';
import type { ParamsOf, RouteId, RouteOf } from '@vivarium/protocol/routes.ts';
import type { z } from 'zod';
import type { KeyStore } from '../auth/key-store.ts';
import type { Answer } from './answer.ts';

/** What handlers work with besides the request. */
export type Services = { edge: Edge; keys: KeyStore; metrics(): Promise<string>; openapi(): string };

type Output<T, Field extends string> = T extends { [F in Field]: infer S extends z.ZodType } ? z.output<S> : undefined;
type Result<T> = T extends { media: string }
  ? never
  : T extends { result: infer S extends z.ZodType }
    ? z.output<S>
    : undefined;

/** One validated and authorised request. `key` is undefined on public routes only. */
export type Call<K extends RouteId = RouteId> = Services & {
  req: IncomingMessage;
  res: ServerResponse;
  params: Record<ParamsOf<RouteOf<K>['path']>, string>;
  query: Output<RouteOf<K>, 'query'>;
  body: Output<RouteOf<K>, 'body'>;
  key: Key;
  owner: Owner;
  idempotency: Idempotency | undefined;
  /** Aborted when the client is gone before the answer was complete. */
  signal: AbortSignal;
};

/** A handler returns the route's result (sent as JSON with the route's status) or an Answer that sends itself. */
export type Handler<K extends RouteId> = (
  call: Call<K>,
) => Result<RouteOf<K>> | Answer | Promise<Result<RouteOf<K>> | Answer>;
export type Handlers<Prefix extends string> = {
  [K in RouteId as K extends `${Prefix}.${string}` ? K : never]: Handler<K>;
};
export type AllHandlers = { [K in RouteId]: Handler<K> };
