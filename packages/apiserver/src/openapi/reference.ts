import { ERROR_CODES } from '@vivarium/protocol';
import { ROUTES, type Route } from '@vivarium/protocol/routes.ts';
import { errorsOf, openapiDocument } from './document.ts';
import { CONVENTIONS, STREAMS } from './reference-prose.ts';

type Schema = {
  $ref?: string;
  type?: string | string[];
  description?: string;
  enum?: unknown[];
  const?: unknown;
  default?: unknown;
  format?: string;
  items?: Schema;
  properties?: Record<string, Schema>;
  required?: string[];
  oneOf?: Schema[];
  anyOf?: Schema[];
  allOf?: Schema[];
  additionalProperties?: boolean | Schema;
  minimum?: number;
  maximum?: number;
};

/** docs/api.md: the same facts as openapi.json, for people. */
export function apiReference(): string {
  const document = openapiDocument();
  const schemas = (document.components?.schemas ?? {}) as Record<string, Schema>;
  const sections = [
    '# API reference\n\nMade from the route table and the schemas by `npm run docs:api`; edit those, not this page.',
    CONVENTIONS,
    ...tags().map((tag) => tagSection(tag, document.paths as Paths)),
    STREAMS,
    `## Schemas\n\n${Object.entries(schemas).map(schemaSection).join('\n\n')}`,
    errorSection(),
  ];
  return `${sections.join('\n\n')}\n`;
}

type Operation = {
  parameters?: { name: string; in: string; required?: boolean; schema: Schema; description?: string }[];
  responses: Record<string, { content?: Record<string, { schema: Schema }> }>;
};
type Paths = Record<string, Record<string, Operation>>;

function tags(): string[] {
  return [...new Set(Object.values<Route>(ROUTES).map((route) => route.tag))];
}

function tagSection(tag: string, paths: Paths): string {
  const rows = Object.entries<Route>(ROUTES).filter(([, route]) => route.tag === tag);
  return `## ${tag[0]!.toUpperCase()}${tag.slice(1)}\n\n${rows.map(([id, route]) => routeSection(id, route, paths)).join('\n\n')}`;
}

function routeSection(id: string, route: Route, paths: Paths): string {
  const operation = paths[route.path]![route.method.toLowerCase()]!;
  const lines = [
    `### \`${route.method} ${route.path}\``,
    '',
    `${route.summary} (\`${id}\`, ${scopeText(route)}).${route.description ? ` ${route.description}` : ''}`,
    '',
  ];
  for (const { name, schema, description, in: place } of operation.parameters ?? []) {
    if (place === 'path') continue;
    lines.push(`- ${place} \`${name}\`: ${typeText(schema)}${description ? `; ${description}` : ''}`);
  }
  if (route.body) lines.push(`- body: ${bodyText(paths[route.path]![route.method.toLowerCase()]!)}`);
  if (route.bodyStream) lines.push(`- body: \`${route.bodyStream}\`, streamed, any size`);
  for (const [status, { content }] of Object.entries(operation.responses)) {
    if (Number(status) >= 400) continue;
    const kinds = Object.entries(content ?? {}).map(([media, { schema }]) =>
      media === 'application/json'
        ? typeText(schema)
        : `\`${media}\`${media.includes('json') ? ` of ${typeText(schema)}` : ''}`,
    );
    lines.push(`- ${status}: ${kinds.join(' or ') || 'nothing'}`);
  }
  lines.push(
    `- errors: ${errorsOf(route)
      .map((code) => `\`${code}\``)
      .join(', ')}`,
  );
  return lines.join('\n');
}

function bodyText(operation: Operation & { requestBody?: { content: Record<string, { schema: Schema }> } }): string {
  return typeText(operation.requestBody?.content['application/json']?.schema ?? {});
}

function scopeText({ scope }: Route): string {
  if (scope === 'public') return 'no key needed';
  return scope === 'any' ? 'any key' : `scope ${scope.map((name) => `\`${name}\``).join(' or ')}`;
}

function schemaSection([name, schema]: [string, Schema]): string {
  const rows = fieldRows(schema);
  if (rows.length === 0) return `### ${name}\n\n${typeText(schema)}`;
  return `### ${name}\n\n| field | type | |\n|---|---|---|\n${rows.join('\n')}`;
}

function fieldRows(schema: Schema): string[] {
  const parts = [schema, ...(schema.allOf ?? []).filter((part) => part.$ref === undefined)];
  const inherited = (schema.allOf ?? [])
    .filter((part) => part.$ref !== undefined)
    .map((part) => `| … | ${typeText(part)} | all of its fields |`);
  const own = parts.flatMap(({ properties = {}, required = [] }) =>
    Object.entries(properties).map(([field, type]) => {
      const notes = [
        required.includes(field)
          ? ''
          : type.default !== undefined
            ? `default \`${JSON.stringify(type.default)}\``
            : 'optional',
        type.description ?? '',
      ].filter(Boolean);
      return `| \`${field}\` | ${typeText(type)} | ${cell(notes.join('; '))} |`;
    }),
  );
  return [...inherited, ...own];
}

function typeText(schema: Schema): string {
  if (schema.$ref) return linkTo(schema.$ref.slice(schema.$ref.lastIndexOf('/') + 1));
  const alternatives = schema.oneOf ?? schema.anyOf;
  if (alternatives) return alternatives.map(typeText).join(' or ');
  if (schema.allOf) return schema.allOf.map(typeText).join(' and ');
  if (schema.const !== undefined) return `\`${JSON.stringify(schema.const)}\``;
  if (schema.enum) return schema.enum.map((value) => `\`${String(value)}\``).join(' · ');
  if (schema.type === 'array') return `list of ${typeText(schema.items ?? {})}`;
  if (schema.type === 'object' && schema.properties)
    return `{ ${Object.entries(schema.properties)
      .map(([name, type]) => `\`${name}\`: ${typeText(type)}`)
      .join(', ')} }`;
  const type = [schema.type ?? 'any'].flat().join(' or ');
  const range =
    schema.minimum !== undefined || schema.maximum !== undefined
      ? `, ${schema.minimum ?? ''} … ${schema.maximum ?? ''}`
      : '';
  return `${schema.format === 'binary' ? 'bytes' : type}${range}`;
}

function linkTo(name: string): string {
  return `[${name}](#${name.toLowerCase()})`;
}

function errorSection(): string {
  const rows = Object.entries(ERROR_CODES).map(
    ([code, { status, exit, fault, retryable, hint }]) =>
      `| \`${code}\` | ${status} | ${exit} | ${fault} | ${retryable ? 'yes' : ''} | ${cell(hint)} |`,
  );
  return `## Errors\n\n| code | HTTP | exit code of \`viv\` | fault | a retry may help | hint |\n|---|---|---|---|---|---|\n${rows.join('\n')}`;
}

const cell = (text: string) => text.replaceAll('|', '\\|').replaceAll('\n', ' ');
