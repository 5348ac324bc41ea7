import { z } from '@hono/zod-openapi';
import { Id, Time } from './id.ts';

export const Scope = z.enum(['sandboxes', 'images', 'admin']);
export type Scope = z.infer<typeof Scope>;

export const KeyCreate = z
  .strictObject({
    name: z.string().min(1).max(100),
    scopes: z.array(Scope).min(1).default(['sandboxes', 'images']),
    maxSandboxes: z.number().int().min(1).optional(),
  })
  .openapi('KeyCreate');
export type KeyCreate = z.infer<typeof KeyCreate>;

/** The secret itself appears once, in the answer to its creation: `viv_<40 hex>`. */
export const Key = z
  .object({
    id: Id,
    name: z.string(),
    scopes: z.array(Scope),
    maxSandboxes: z.number().nullable(),
    createdAt: Time,
    secret: z.string().optional(),
  })
  .openapi('Key');
export type Key = z.infer<typeof Key>;
