import { z } from 'zod';

/** Messages of E2B's secrets. */

const ENTRIES_MAX = 32;
const KEY_BYTES_MAX = 128;
const TEXT_BYTES_MAX = 1024;
const METADATA_BYTES_MAX = 8192;

/** UTF-8, as E2B counts. */
const bytes = (text: string) => new TextEncoder().encode(text).length;
const shortText = (max: number) => z.string().refine((text) => bytes(text) <= max, `at most ${max} bytes`);

const metadata = z
  .record(shortText(KEY_BYTES_MAX), shortText(TEXT_BYTES_MAX))
  .refine((map) => Object.keys(map).length <= ENTRIES_MAX, `at most ${ENTRIES_MAX} entries`)
  .refine((map) => bytes(JSON.stringify(map)) <= METADATA_BYTES_MAX, `at most ${METADATA_BYTES_MAX} bytes in all`);

const value = z.string().min(1).max(65_536);

/** Names are what `${e2b.secrets.NAME}` holds between its braces; those of ids are kept for ids. */
const name = z
  .string()
  .min(1)
  .max(256)
  .regex(/^[^{}\p{Cc}]+$/u, 'no braces, no control characters')
  .transform((text) => text.toLowerCase())
  .refine((text) => !text.startsWith('sec_'), 'names do not begin with sec_');

export const E2bSecretCreate = z.object({ name, value, metadata: metadata.optional() });
/** Without `metadata` it stays as it is. */
export const E2bSecretUpdate = z.object({ value, metadata: metadata.optional() });
export const E2bSecretQuery = z.object({
  limit: z.coerce.number().int().min(1).max(100).default(100),
  nextToken: z
    .string()
    .regex(/^\d{1,15}$/, 'not a token of this list')
    .optional(),
});

/** What is told of a secret: never its value. */
export type E2bSecret = {
  secretID: string;
  name: string;
  currentVersion: number;
  metadata: Record<string, string>;
  createdAt: string;
  updatedAt: string;
};
