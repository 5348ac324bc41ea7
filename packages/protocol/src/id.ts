import { z } from '@hono/zod-openapi';
import { IMAGE_NAME, IMAGE_NAME_MAX } from './image-name.ts';

/** `[a-z0-9]{20}`, sortable by creation time (core/id.ts makes them). */
export const Id = z.string().regex(/^[a-z0-9]{20}$/, 'an id is 20 characters a-z0-9');

/** Label keys and values: small, printable, for selection. */
export const Labels = z
  .record(z.string().regex(/^[A-Za-z0-9_./-]{1,63}$/), z.string().max(255))
  .refine((labels) => Object.keys(labels).length <= 64, 'at most 64 labels');
export type Labels = z.infer<typeof Labels>;

/** What a client wants to remember with a sandbox: any strings, also to find it by. */
export const Metadata = z
  .record(z.string().max(256), z.string().max(4096))
  .refine((metadata) => Object.keys(metadata).length <= 64, 'at most 64 entries of metadata');
export type Metadata = z.infer<typeof Metadata>;

/** Environment variables. Names follow POSIX; they reach execve as they are and are never pasted into a shell. */
export const Env = z
  .record(
    z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/, 'a variable name is [A-Za-z_][A-Za-z0-9_]*'),
    z
      .string()
      .max(131_072)
      .refine((v) => !v.includes('\0'), 'no NUL'),
  )
  .refine((env) => Object.keys(env).length <= 1024, 'at most 1024 variables');
export type Env = z.infer<typeof Env>;

/** `name`, `uid`, `name:group` or `uid:gid`, looked up inside the sandbox. */
export const UserSpec = z
  .string()
  .regex(
    /^[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}(:[A-Za-z0-9_][A-Za-z0-9_.-]{0,63})?$/,
    'a user is name, uid, name:group or uid:gid',
  );

/** `role/name@version`; the role (base, toolkit, workspace …) may be left out. */
export const ImageName = z
  .string()
  .max(IMAGE_NAME_MAX)
  .regex(IMAGE_NAME, 'an image is named name@version, such as base/debian@12 (`viv image ls` shows what there is)')
  .openapi({ example: 'base/debian@12' });

/** Cursor paging of every list. */
export const PageQuery = z.object({
  limit: z.coerce.number().int().min(1).max(1000).default(100),
  cursor: z.string().max(500).optional(),
});
export const page = <T extends z.ZodType>(item: T) =>
  z.object({ items: z.array(item), nextCursor: z.string().nullable() });

/** RFC 3339 UTC, milliseconds. */
export const Time = z.string().datetime();
