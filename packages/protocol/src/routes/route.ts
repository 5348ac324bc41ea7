import type { z } from '@hono/zod-openapi';
import type { ErrorCode } from '../error-codes.ts';
import type { Scope } from '../key.ts';

export type Media =
  | 'application/json'
  | 'application/x-ndjson'
  | 'application/octet-stream'
  | 'application/x-tar'
  | 'text/plain';

/**
 * One operation of the HTTP API. Validation, authorisation, the handlers' types, openapi.json and docs/api.md all come
 * from this and from nowhere else. Path parameters are written `{name}`; a result without `media` is JSON.
 */
export type Route = {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  path: string;
  tag: 'sandboxes' | 'execs' | 'files' | 'images' | 'volumes' | 'fn' | 'leases' | 'keys' | 'node';
  summary: string;
  description?: string;
  /** A key needs one of these scopes; `any`: any key; `public`: none. A key with `admin` may do everything. */
  scope: readonly Scope[] | 'any' | 'public';
  query?: z.ZodObject;
  /** JSON body. An empty body counts as `{}`. */
  body?: z.ZodType;
  /** Largest JSON body, where the server's general limit is too small. */
  maxBodyBytes?: number;
  /** Body that is passed on as it comes, of any size. */
  bodyStream?: Media;
  /** Takes the header `Idempotency-Key`. */
  idempotent?: true;
  status: 200 | 202 | 204;
  result?: z.ZodType;
  media?: Media;
  /** Other successful answers. */
  also?: readonly { status: number; result?: z.ZodType; media?: Media; description: string }[];
  /** Besides the ones that every route may answer with (authentication, validation, `internal`). */
  errors: readonly ErrorCode[];
};

/** Names of the path's parameters. */
export type ParamsOf<P extends string> = P extends `${string}{${infer Name}}${infer Rest}`
  ? Name | ParamsOf<Rest>
  : never;

/** Keeps the literal types of a table of routes while checking its shape. */
export const routes = <const T extends Record<string, Route>>(table: T): T => table;
