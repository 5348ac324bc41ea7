import { type ControlRoute, route } from './control-call.ts';
import { builtinImage } from './templates-builtin.ts';
import { noTemplate, seenTemplate } from './templates-find.ts';
import { templateReference } from './templates-name.ts';

/** What a name stands for, if anything. */
export const aliasRoutes: ControlRoute[] = [
  route('GET /templates/aliases/{alias}', {
    status: 200,
    run: ({ context, key, params }) => {
      const { name } = templateReference(params.alias!);
      const template = seenTemplate(context, key, name);
      if (template) return { templateID: template.id, public: template.public };
      if (builtinImage(context.edge, name) !== undefined) return { templateID: name, public: true };
      throw noTemplate(name);
    },
  }),
];
