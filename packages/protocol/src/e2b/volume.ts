import { z } from 'zod';
import { VOLUME_ID_MAX } from '../volume.ts';

/** Messages of E2B's volumes: the control plane's, and those of /volumecontent, which carries files. */

/** How far down a listing may go. */
export const E2B_DEPTH_MAX = 10;

export const E2bVolumeCreate = z.object({ name: z.string() });

/** Without the token in lists. */
export type E2bVolume = { volumeID: string; name: string; token?: string; domain?: string };

/** A number in a query. Nothing is not 0: that would be root. */
const digits = z
  .string()
  .regex(/^\d{1,10}$/)
  .transform(Number);
const owner = z.number().int().min(0).max(VOLUME_ID_MAX);
/** Of what a client says only the permission bits count: the type of a file is no matter of its mode here. */
const mode = z
  .number()
  .int()
  .min(0)
  .max(0xffffffff)
  .transform((bits) => bits & 0o777);
const path = z.string().min(1).max(4096);
const force = z
  .enum(['true', 'false'])
  .default('false')
  .transform((text) => text === 'true');

export const E2bPathQuery = z.object({ path });
export const E2bDirectoryQuery = z.object({
  path,
  depth: z.coerce
    .number()
    .pipe(z.number().int().min(0).max(E2B_DEPTH_MAX))
    .default(1)
    .transform((depth) => Math.max(1, depth)),
});
/** `force`: of a directory, make those above it too; of a file, also replace it. */
export const E2bMakeQuery = z.object({
  path,
  uid: digits.pipe(owner).optional(),
  gid: digits.pipe(owner).optional(),
  mode: digits.pipe(mode).optional(),
  force,
});
export const E2bMetadata = z.object({ uid: owner.nullish(), gid: owner.nullish(), mode: mode.nullish() });

/** Times are RFC 3339. */
export type E2bVolumeEntry = {
  name: string;
  type: 'file' | 'directory' | 'symlink' | 'unknown';
  path: string;
  size: number;
  mode: number;
  uid: number;
  gid: number;
  atime: string;
  mtime: string;
  ctime: string;
  target?: string;
};
