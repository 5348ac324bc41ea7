import { z } from 'zod';
import { uint32 } from './proto-json.ts';

/**
 * Messages of envd's service `filesystem.Filesystem` in the JSON form of protobuf, and of its /files: defaults may be left out or null,
 * numbers may be strings, fields that are not known are dropped.
 */

const PATH_CHARS_MAX = 4096;

const path = z
  .string()
  .max(PATH_CHARS_MAX)
  .refine((text) => !text.includes('\0'), 'no NUL')
  .nullish()
  .transform((text) => text ?? '');
const flag = z
  .boolean()
  .nullish()
  .transform((value) => value ?? false);
const depth = uint32.nullish().transform((value) => value ?? 0);

export const StatRequest = z.object({ path });
export const MakeDirRequest = z.object({ path });
export const MoveRequest = z.object({ source: path, destination: path });
export const RemoveRequest = z.object({ path });
/** Depth 0 is that of a client that does not say: 1. */
export const ListDirRequest = z.object({ path, depth: depth.transform((levels) => levels || 1) });
export const WatchDirRequest = z.object({ path, recursive: flag, includeEntry: flag, allowNetworkMounts: flag });
export type WatchDirRequest = z.output<typeof WatchDirRequest>;
export const CreateWatcherRequest = WatchDirRequest;
const watcherId = z
  .string()
  .max(100)
  .nullish()
  .transform((id) => id ?? '');
export const GetWatcherEventsRequest = z.object({ watcherId });
export const RemoveWatcherRequest = z.object({ watcherId });

const FileType = z.enum(['FILE_TYPE_UNSPECIFIED', 'FILE_TYPE_FILE', 'FILE_TYPE_DIRECTORY', 'FILE_TYPE_SYMLINK']);
export const EntryInfo = z.object({
  name: z.string(),
  type: FileType.describe('of a link that leads somewhere: of what is there'),
  path: z.string(),
  size: z.string().describe('bytes; a 64-bit number is text in this form'),
  mode: z.number().int().describe('permission bits; of a link those of where it leads'),
  permissions: z.string().describe('as `-rw-r--r--`'),
  owner: z.string(),
  group: z.string(),
  modifiedTime: z.string().describe('RFC 3339'),
  symlinkTarget: z.string().optional().describe('where a link leads in the end'),
  metadata: z.record(z.string(), z.string()).optional(),
});
export type EntryInfo = z.infer<typeof EntryInfo>;

export const FilesystemEvent = z.object({
  name: z.string().describe('relative to what is watched'),
  type: z.enum(['EVENT_TYPE_CREATE', 'EVENT_TYPE_WRITE', 'EVENT_TYPE_REMOVE', 'EVENT_TYPE_RENAME', 'EVENT_TYPE_CHMOD']),
  entry: EntryInfo.optional(),
});
export type FilesystemEvent = z.infer<typeof FilesystemEvent>;

/** What POST /files answers, one per file. */
export const WrittenFile = z.object({
  name: z.string(),
  path: z.string(),
  type: z.literal('file'),
  metadata: z.record(z.string(), z.string()).optional(),
});
export type WrittenFile = z.infer<typeof WrittenFile>;

/** Query of /files. */
export const FilesQuery = z.object({
  path: z
    .string()
    .max(PATH_CHARS_MAX)
    .refine((text) => !text.includes('\0'), 'no NUL')
    .optional(),
  username: z.string().max(256).optional(),
  signature: z.string().max(100).optional(),
  signature_expiration: z
    .string()
    .regex(/^-?\d{1,15}$/, 'is a time in seconds')
    .transform(Number)
    .optional(),
});
