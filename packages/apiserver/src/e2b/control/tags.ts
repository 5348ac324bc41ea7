import { VivError } from '@vivarium/protocol';
import { E2bTagAssign, E2bTagRemove } from '@vivarium/protocol/e2b/template.ts';
import { type ControlRoute, route } from './control-call.ts';
import { noTemplate, ownTemplate, seenTemplate, taggedBuild } from './templates-find.ts';
import { tagNames, templateReference } from './templates-name.ts';

/** Tags of templates: names of builds that move. */
export const tagRoutes: ControlRoute[] = [
  route('GET /templates/{templateID}/tags', {
    status: 200,
    run: ({ context, key, params }) => {
      const template = seenTemplate(context, key, params.templateID!);
      if (!template) throw noTemplate(params.templateID!);
      return context.store.templates.tags(template.id).map(({ tag, build, createdAtMs }) => ({
        tag,
        buildID: build,
        createdAt: new Date(createdAtMs).toISOString(),
      }));
    },
  }),
  route('POST /templates/tags', {
    status: 201,
    body: E2bTagAssign,
    run: ({ context, key, body }) => {
      const { name } = templateReference(body.target);
      const template = ownTemplate(context, key, name);
      const tags = tagNames(body.tags, template.name);
      const { build } = taggedBuild(context, key, body.target)!;
      context.store.templates.tag(template.id, tags, build.id, Date.now());
      return { buildID: build.id, tags };
    },
  }),
  route('DELETE /templates/tags', {
    status: 204,
    body: E2bTagRemove,
    run: ({ context, key, body }) => {
      const template = ownTemplate(context, key, templateReference(body.name).name);
      const tags = tagNames(body.tags, template.name);
      const known = new Set(context.store.templates.tags(template.id).map(({ tag }) => tag));
      const missing = tags.find((tag) => !known.has(tag));
      if (missing !== undefined)
        throw new VivError('image_not_found', `template '${template.name}' has no tag ${missing}`);
      context.store.templates.untag(template.id, tags);
      return undefined;
    },
  }),
];
