import { type Key, VivError } from '@vivarium/protocol';
import { E2bPageQuery, E2bTemplateRequest, E2bTemplateUpdate } from '@vivarium/protocol/e2b/template.ts';
import type { z } from 'zod';
import { Answer, sendJson } from '../../http/answer.ts';
import { type ControlCall, type ControlRoute, route } from './control-call.ts';
import { removeSnapshot } from './snapshots.ts';
import { noTemplate, ownTemplate, seenTemplate } from './templates-find.ts';
import { templatesOf } from './templates-service.ts';
import { templateView, templateWithBuilds } from './templates-view.ts';

type Page = z.output<typeof E2bPageQuery>;
/** Templates that one page of the old list, which has no pages, can hold. */
const ALL_MAX = 1000;

/** Templates: asked for, listed, shown, changed, deleted. What they are built of is in builds.ts. */
export const templateRoutes: ControlRoute[] = [
  route('POST /v3/templates', { status: 202, body: E2bTemplateRequest, run: request }),
  route('POST /v2/templates', { status: 202, body: E2bTemplateRequest, run: request }),
  route('GET /templates', {
    status: 200,
    run: ({ context, key }) =>
      context.store.templates
        .list(listed(key), Number.MAX_SAFE_INTEGER, ALL_MAX)
        .map((row) => templateView(context, row)),
  }),
  route('GET /v2/templates', { status: 200, query: E2bPageQuery, run: list }),
  route('GET /templates/{templateID}', { status: 200, query: E2bPageQuery, run: show }),
  route('PATCH /templates/{templateID}', { status: 200, body: E2bTemplateUpdate, run: update }),
  route('PATCH /v2/templates/{templateID}', { status: 200, body: E2bTemplateUpdate, run: update }),
  route('DELETE /templates/{templateID}', { status: 204, run: remove }),
];

function request({ context, key, body }: ControlCall<E2bTemplateRequest>): object {
  const { template, build } = templatesOf(context).request(body, key);
  return {
    templateID: template.id,
    buildID: build.id,
    public: template.public,
    names: [template.name],
    tags: build.tags,
    aliases: [template.name],
  };
}

function list({ context, key, query: { limit, nextToken } }: ControlCall<unknown, Page>): Answer {
  const rows = context.store.templates.list(listed(key), numberOf(nextToken, Number.MAX_SAFE_INTEGER), limit + 1);
  const next = rows.length > limit ? rows[limit - 1]!.seq : undefined;
  return paged(
    rows.slice(0, limit).map((row) => templateView(context, row)),
    next,
  );
}

function show({ context, key, params, query: { limit, nextToken } }: ControlCall<unknown, Page>): Answer {
  const template = seenTemplate(context, key, params.templateID!);
  if (!template) throw noTemplate(params.templateID!);
  const from = numberOf(nextToken, 0);
  const builds = context.store.builds.ofTemplate(template.id);
  const next = builds.length > from + limit ? from + limit : undefined;
  return paged(templateWithBuilds(template, builds.slice(from, from + limit)), next);
}

function update({ context, key, params, body }: ControlCall<z.output<typeof E2bTemplateUpdate>>): object {
  const template = ownTemplate(context, key, params.templateID!);
  if (body.public !== null && body.public !== undefined)
    context.store.templates.setPublic(template.id, body.public, Date.now());
  return { names: [template.name] };
}

/** Snapshots are deleted as templates are. */
async function remove({ context, key, params }: ControlCall): Promise<undefined> {
  const id = params.templateID!;
  if (seenTemplate(context, key, id)) await templatesOf(context).remove(ownTemplate(context, key, id));
  else if (!(await removeSnapshot(context, key, id))) throw noTemplate(id);
  return undefined;
}

/** Whose templates a list shows: a key's own, also to one that may use all. */
function listed(key: Key): string {
  return key.id;
}

function numberOf(token: string | undefined, otherwise: number): number {
  if (token === undefined) return otherwise;
  if (/^\d{1,15}$/.test(token)) return Number(token);
  throw new VivError('invalid_argument', `nextToken "${token.slice(0, 100)}" is not one of ours`);
}

function paged(value: unknown, next: number | undefined): Answer {
  return new Answer((res) => sendJson(res, 200, value, next === undefined ? {} : { 'x-next-token': `${next}` }));
}
