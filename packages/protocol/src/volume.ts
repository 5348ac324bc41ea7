import { z } from '@hono/zod-openapi';
import { Entry, flag } from './files.ts';
import { Id, Time } from './id.ts';

/** What a volume may hold. */
export const VOLUME_SIZE_MIB = { default: 10_240, min: 1, max: 1_048_576 } as const;
/** Volumes that one sandbox may have. */
export const VOLUMES_PER_SANDBOX = 16;
/** A sandbox has as many ids; those of files in a volume are among them. */
export const VOLUME_ID_MAX = 65_535;

export const VolumeName = z
  .string()
  .regex(/^[A-Za-z0-9_-]{1,128}$/, 'a volume is named with 1 to 128 letters, digits, `_` and `-`');

export const VolumeCreate = z
  .strictObject({
    name: VolumeName.describe('one of this key’s volumes only has it'),
    sizeMiB: z
      .number()
      .int()
      .min(VOLUME_SIZE_MIB.min)
      .max(VOLUME_SIZE_MIB.max, { error: `limit_too_high: sizeMiB is at most ${VOLUME_SIZE_MIB.max} (MiB)` })
      .default(VOLUME_SIZE_MIB.default)
      .describe('what it can hold; nothing is set aside for it'),
  })
  .openapi('VolumeCreate');
export type VolumeCreate = z.infer<typeof VolumeCreate>;
export type VolumeCreateInput = z.input<typeof VolumeCreate>;

/** Files that outlive sandboxes: any number of containers mount them at once. */
export const Volume = z
  .object({
    id: Id,
    name: VolumeName,
    sizeMiB: z.number(),
    usedBytes: z.number(),
    createdAt: Time,
    sandboxes: z.array(Id).describe('live sandboxes that have it, also paused ones'),
  })
  .openapi('Volume');
export type Volume = z.infer<typeof Volume>;

/** Where a sandbox has a volume. */
const MountPath = z
  .string()
  .max(4096)
  .regex(/^(\/[^/\0]+)+\/?$/, 'an absolute path, and not /')
  .refine((path) => !/\/\.\.?(\/|$)/.test(path), 'a path without . and ..')
  .refine((path) => !/^\/(proc|sys|dev)(\/|$)/.test(path), 'a path outside /proc, /sys and /dev');
export const VolumeMount = z
  .strictObject({
    name: z.string().min(1).max(128).describe('of one of this key’s volumes, or the id of a volume'),
    path: MountPath.describe('directory inside, made if missing; what the image has there is hidden'),
    readOnly: z.boolean().default(false),
  })
  .openapi('VolumeMount');
export type VolumeMount = z.infer<typeof VolumeMount>;
/** With one slash at its end. */
const closed = (path: string) => path.replace(/\/?$/, '/');
const lies = (inner: string, outer: string) => closed(inner).startsWith(closed(outer));
export const VolumeMounts = z
  .array(VolumeMount)
  .max(VOLUMES_PER_SANDBOX)
  .refine((mounts) => !mounts.some((a, i) => mounts.some((b, j) => i !== j && lies(b.path, a.path))), {
    error: 'no volume lies in another: their paths must not begin with one another',
  });

/** One that a sandbox has. */
export const MountedVolume = z.object({ id: Id, name: VolumeName, path: z.string(), readOnly: z.boolean() });
export type MountedVolume = z.infer<typeof MountedVolume>;

const owner = z.number().int().min(0).max(VOLUME_ID_MAX);
// Nothing is not 0: that would be root.
const queryOwner = z
  .string()
  .regex(/^\d{1,5}$/)
  .transform(Number)
  .pipe(owner)
  .openapi({ type: 'integer', minimum: 0, maximum: VOLUME_ID_MAX });
const octal = z
  .string()
  .regex(/^[0-7]{3,4}$/)
  .optional()
  .describe('octal');

/** A file of a volume: also with the times of its last read and of its last change of attributes. */
export const VolumeEntry = Entry.extend({ atimeMs: z.number(), ctimeMs: z.number() }).openapi('VolumeEntry');
export type VolumeEntry = z.infer<typeof VolumeEntry>;

/** A path in a volume, as text or as base64 bytes. It starts at the volume’s root, with a slash or without. */
export const VolumePathQuery = z.object({
  path: z.string().min(1).max(4096).optional(),
  pathB64: z.string().max(6000).optional(),
});
export const VolumeListQuery = VolumePathQuery.extend({ depth: z.coerce.number().int().min(1).max(64).default(1) });
export const VolumeWriteQuery = VolumePathQuery.extend({
  mode: octal,
  uid: queryOwner.optional().describe('default 1000'),
  gid: queryOwner.optional().describe('default 1000'),
  exclusive: flag.describe('fail with `path_exists` rather than replace'),
  parents: flag.describe('make missing directories above it'),
  fsync: flag.describe('answer when it is on the disk'),
});
export const VolumeRemoveQuery = VolumePathQuery.extend({ recursive: flag });
export const VolumeUnarchiveQuery = VolumePathQuery.extend({
  uid: queryOwner.optional().describe('owner of everything that is unpacked; default 1000'),
  gid: queryOwner.optional(),
});

const PathBody = { path: z.string().min(1).max(4096).optional(), pathB64: z.string().max(6000).optional() };
const mode = z.number().int().min(0).max(0o7777).optional();
export const VolumeMkdirRequest = z
  .strictObject({
    ...PathBody,
    mode,
    uid: owner.optional(),
    gid: owner.optional(),
    parents: z.boolean().default(true),
    exclusive: z.boolean().default(false),
  })
  .openapi('VolumeMkdirRequest');
export const VolumeAttributesRequest = z
  .strictObject({ ...PathBody, mode, uid: owner.optional(), gid: owner.optional() })
  .openapi('VolumeAttributesRequest');
