import { createRoute, OpenAPIHono, z } from '@hono/zod-openapi';
import { ERROR_CODES, ErrorBody, type ErrorCode } from '@vivarium/protocol';
import { ROUTES, type Route } from '@vivarium/protocol/routes.ts';

export const API_VERSION = '0.1.0';

type Responses = Record<
  number,
  { description: string; content?: Record<string, { schema: z.ZodType }>; headers?: z.ZodObject }
>;
type OpenApiDocument = ReturnType<OpenAPIHono['getOpenAPI31Document']>;

/** The route table as an OpenAPI 3.1 document. */
export function openapiDocument(): OpenApiDocument {
  const app = new OpenAPIHono();
  const registry = app.openAPIRegistry;
  registry.registerComponent('securitySchemes', 'bearer', {
    type: 'http',
    scheme: 'bearer',
    description: 'An API key, `viv_…`',
  });
  registry.registerComponent('securitySchemes', 'apiKey', { type: 'apiKey', in: 'header', name: 'X-API-Key' });
  for (const [id, route] of Object.entries<Route>(ROUTES)) registry.registerPath(describeRoute(id, route));
  return app.getOpenAPI31Document({
    openapi: '3.1.0',
    info: {
      title: 'Vivarium',
      version: API_VERSION,
      description:
        'Sandboxes for agents. Streams (`GET /v1/connect`, WebSocket) and the ports gateway are described in docs/api.md.',
      license: { name: 'Apache-2.0', url: 'https://www.apache.org/licenses/LICENSE-2.0' },
    },
    tags: [...new Set(Object.values<Route>(ROUTES).map((route) => route.tag))].map((name) => ({ name })),
  });
}

let text: string | undefined;

/** The document as it is committed (docs/openapi.json) and served. */
export function openapiText(): string {
  text ??= `${JSON.stringify(openapiDocument(), null, 2)}\n`;
  return text;
}

function describeRoute(id: string, route: Route) {
  const body = route.body ?? (route.bodyStream ? binary() : undefined);
  const media = route.body ? 'application/json' : route.bodyStream;
  return createRoute({
    method: route.method.toLowerCase() as 'get',
    path: route.path,
    operationId: id,
    tags: [route.tag],
    summary: route.summary,
    ...(route.description !== undefined && { description: route.description }),
    ...(route.scope !== 'public' && { security: [{ bearer: [] }, { apiKey: [] }] }),
    ...(Array.isArray(route.scope) && { 'x-viv-scopes': route.scope }),
    'x-viv-errors': errorsOf(route),
    request: {
      ...(parameters(route.path) && { params: parameters(route.path) }),
      ...(route.query && { query: route.query }),
      ...(route.idempotent && { headers: z.object({ 'Idempotency-Key': z.string().min(1).max(200).optional() }) }),
      ...(body &&
        media && { body: { content: { [media]: { schema: body } }, required: route.bodyStream !== undefined } }),
    },
    responses: responsesOf(route),
  });
}

/** Every code a route may answer with, its own first. */
export function errorsOf(route: Route): ErrorCode[] {
  const general: ErrorCode[] = [];
  if (route.scope !== 'public') general.push('unauthenticated');
  if (Array.isArray(route.scope)) general.push('forbidden');
  if (route.query || route.body) general.push('invalid_argument', 'unknown_field', 'limit_too_high');
  if (route.body) general.push('malformed_json', 'payload_too_large');
  return [...new Set([...route.errors, ...general, 'internal' as const])];
}

function responsesOf(route: Route): Responses {
  const responses: Responses = {};
  const successes = [
    { status: route.status, result: route.result, media: route.media, description: 'done' },
    ...(route.also ?? []),
  ];
  for (const { status, result, media, description } of successes) {
    const schema = media === undefined || media === 'application/x-ndjson' ? result : binary();
    const earlier = responses[status]?.content;
    responses[status] = {
      description: responses[status]?.description ?? description,
      ...(schema && { content: { ...earlier, [media ?? 'application/json']: { schema } } }),
    };
  }
  for (const code of errorsOf(route)) {
    const { status } = ERROR_CODES[code];
    const before = responses[status]?.description;
    responses[status] = {
      description: before === undefined ? code : `${before}, ${code}`,
      content: { 'application/json': { schema: ErrorBody } },
    };
  }
  return responses;
}

function parameters(path: string): z.ZodObject | undefined {
  const names = [...path.matchAll(/\{(\w+)\}/g)].map((match) => match[1]!);
  return names.length === 0 ? undefined : z.object(Object.fromEntries(names.map((name) => [name, z.string()])));
}

function binary(): z.ZodType {
  return z.any().openapi({ type: 'string', format: 'binary' });
}
