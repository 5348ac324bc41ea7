import { z } from '@hono/zod-openapi';
import { ImageName, Labels } from './id.ts';
import { Image, Layer } from './image.ts';

/** How many patterns one list of a pack may have. */
export const PACK_GLOBS_MAX = 256;
/** How many paths a list in a report names; the counts beside it are complete. */
export const PACK_PATHS_MAX = 20;
export const PACK_LEFT_OUT_MAX = 1000;

const globs = (what: string) =>
  z
    .array(z.string().min(1).max(1024))
    .max(PACK_GLOBS_MAX)
    .default([])
    .describe(
      `${what}. \`/a/*.log\` is a path from the root, \`*.log\` a name at any depth, \`**\` any directories; what matches a directory matches all in it`,
    );

export const PackRequest = z
  .strictObject({
    image: ImageName.describe('name of the image to make'),
    labels: Labels.optional(),
    scrub: z
      .enum(['default', 'none'])
      .default('default')
      .describe(
        '`default`: residue (caches, logs, temporary files, histories, credentials, …) stays out and is reported',
      ),
    keep: globs('Residue that stays in'),
    exclude: globs('Left out besides: as if the sandbox had not changed it'),
    times: z
      .enum(['fixed', 'kept'])
      .default('fixed')
      .describe(
        '`fixed`: times later than the image’s are set to it, so that the same change gives the same layer; `kept`: as they are',
      ),
    split: z
      .strictObject({
        image: ImageName,
        protect: z
          .array(z.string().min(1).max(1024))
          .max(PACK_GLOBS_MAX)
          .describe('paths that are in this image as the sandbox’s image has them'),
        restore: globs(
          'Paths that are as the sandbox’s image has them where it has them; what the sandbox added there stays',
        ),
        closed: globs('Paths where nothing that the sandbox added stays; what it changed there is for `restore`'),
        except: globs('Never put back by `restore`, never left out by `closed` and `programs`'),
        programs: z
          .array(z.string().startsWith('/').max(1024))
          .max(64)
          .default([])
          .describe(
            'directories that are searched for programs, in this order: an added one that hides one the sandbox’s image has stays out',
          ),
        only: z
          .array(z.string().min(1).max(1024))
          .max(PACK_GLOBS_MAX)
          .optional()
          .describe(
            'nothing else is in this image but these paths (less what `protect` and `restore` take); absent: all',
          ),
      })
      .optional()
      .describe('a second image of the same moment, without changes to protected paths'),
  })
  .openapi('PackRequest');
export type PackRequest = z.infer<typeof PackRequest>;
export type PackRequestInput = z.input<typeof PackRequest>;

/** What one rule or pattern matched. */
export const PackFinding = z
  .object({
    rule: z.string(),
    reason: z.string(),
    entries: z.number().describe('files, directories and links'),
    bytes: z.number(),
    paths: z.array(z.string()).describe(`the first ${PACK_PATHS_MAX}`),
  })
  .openapi('PackFinding');
export type PackFinding = z.infer<typeof PackFinding>;

export const PackLeftOut = z.object({
  path: z.string(),
  change: z.enum(['added', 'changed', 'deleted']),
});
export type PackLeftOut = z.infer<typeof PackLeftOut>;

export const PackReport = z
  .object({
    image: Image,
    layer: Layer.nullable().describe('null: nothing differs, the image has the layers of its parent'),
    changed: z.object({ added: z.number(), changed: z.number(), deleted: z.number(), bytes: z.number() }),
    removed: z.array(PackFinding).describe('residue that stayed out: added files are gone, changed ones are as before'),
    excluded: z.array(PackFinding).describe('what the request left out, by its patterns'),
    suspicious: z.array(PackFinding).describe('may hold secrets; it is in the image'),
    split: z
      .object({
        image: Image,
        leftOut: z.array(PackLeftOut).describe(`the first ${PACK_LEFT_OUT_MAX} changes that are not in it`),
        leftOutEntries: z.number(),
      })
      .nullable(),
  })
  .openapi('PackReport');
export type PackReport = z.infer<typeof PackReport>;
