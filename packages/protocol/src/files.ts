import { z } from '@hono/zod-openapi';
import { UserSpec } from './id.ts';

export const FileType = z.enum(['file', 'dir', 'symlink', 'fifo', 'socket', 'char', 'block', 'unknown']);
export type FileType = z.infer<typeof FileType>;

export const Entry = z
  .object({
    name: z.string(),
    path: z.string().describe('bytes that are not UTF-8 appear as U+FFFD'),
    pathB64: z.string().optional().describe('the exact bytes; only where path is not exact'),
    type: FileType,
    mode: z.number().int().describe('permission bits, 0o7777'),
    uid: z.number().int(),
    gid: z.number().int(),
    sizeBytes: z.number(),
    mtimeMs: z.number(),
    nlink: z.number().int(),
    target: z
      .string()
      .optional()
      .describe('of a symlink: its text or, with `resolve`, the real path of where it leads'),
    targetB64: z.string().optional(),
    leadsTo: z
      .object({ type: FileType, mode: z.number().int() })
      .optional()
      .describe('what is where a symlink leads; only with `resolve`, absent if it leads nowhere'),
    metadata: z
      .record(z.string(), z.string())
      .optional()
      .describe('what was noted about a file or directory: its extended attributes `user.e2b.…`, without that prefix'),
  })
  .openapi('Entry');
export type Entry = z.infer<typeof Entry>;

/** Every path can be given as text or, for names that are not UTF-8, as base64 bytes. */
export const PathQuery = z.object({
  path: z.string().min(1).max(4096).optional(),
  pathB64: z.string().max(6000).optional(),
  user: UserSpec.optional(),
});
/** `true` or `false` in a query; default false. */
export const flag = z
  .enum(['true', 'false'])
  .default('false')
  .transform((v) => v === 'true');
export const StatQuery = PathQuery.extend({ follow: flag, resolve: flag });
export const ListQuery = PathQuery.extend({
  depth: z.coerce.number().int().min(1).max(64).default(1),
  resolve: flag,
  metadata: flag.describe('with the metadata of the entries; the list then takes twice as long'),
});
export const ReadQuery = PathQuery;
/** Names and values of one file together: what a file system is sure to hold. */
export const METADATA_BYTES_MAX = 4096;
export const METADATA_KEY_BYTES_MAX = 246;
const MetadataItem = z.string().regex(/^[^=\0]+=[^\0]*$/, 'is `key=value`');
export const WriteQuery = PathQuery.extend({
  mode: z
    .string()
    .regex(/^[0-7]{3,4}$/)
    .optional()
    .describe('octal'),
  append: flag,
  exclusive: flag,
  fsync: flag,
  owner: UserSpec.optional(),
  offset: z.coerce.number().int().min(0).optional().describe('write there without truncating'),
  metadata: z
    .array(MetadataItem)
    .max(400)
    .optional()
    .describe(
      '`key=value`, any number of times: noted with the file, in place of what was unless `append` or `offset`',
    ),
});
export const RemoveQuery = PathQuery.extend({ recursive: flag, missingOk: flag });
export const ArchiveQuery = PathQuery.extend({ owner: UserSpec.optional().describe('of what is unpacked') });

const PathBody = {
  path: z.string().min(1).max(4096).optional(),
  pathB64: z.string().max(6000).optional(),
  user: UserSpec.optional(),
};
export const MkdirRequest = z
  .strictObject({
    ...PathBody,
    mode: z.number().int().min(0).max(0o7777).optional(),
    parents: z.boolean().default(true),
    exclusive: z.boolean().default(false),
  })
  .openapi('MkdirRequest');
export const MoveRequest = z
  .strictObject({
    ...PathBody,
    to: z.string().min(1).max(4096).optional(),
    toB64: z.string().max(6000).optional(),
    overwrite: z.boolean().default(true),
    parents: z.boolean().default(true),
  })
  .openapi('MoveRequest');
export const ChmodRequest = z
  .strictObject({ ...PathBody, mode: z.number().int().min(0).max(0o7777), recursive: z.boolean().default(false) })
  .openapi('ChmodRequest');
export const ChownRequest = z
  .strictObject({ ...PathBody, owner: UserSpec, recursive: z.boolean().default(false) })
  .openapi('ChownRequest');
export const SymlinkRequest = z
  .strictObject({ ...PathBody, target: z.string().min(1).max(4096) })
  .openapi('SymlinkRequest');

export const WatchEvent = z
  .object({
    kind: z.enum(['create', 'modify', 'remove', 'rename_from', 'rename_to', 'attributes', 'overflow', 'gone']),
    path: z.string(),
    pathB64: z.string().optional(),
    isDir: z.boolean(),
    cookie: z.number().optional(),
  })
  .openapi('WatchEvent');
export type WatchEvent = z.infer<typeof WatchEvent>;
