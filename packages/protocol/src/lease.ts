import { z } from '@hono/zod-openapi';
import { Id, Time } from './id.ts';

/** A client's claim on its sandboxes: kept alive by renewals or by a held connection; past its grace they end or are held. */
export const LeaseCreate = z
  .strictObject({
    label: z.string().min(1).max(200).optional().describe('viv.attach(label) finds it again'),
    graceS: z
      .number()
      .int()
      .min(1)
      .max(7 * 86_400)
      .default(60),
    onExpire: z.enum(['kill', 'pause']).default('kill'),
  })
  .openapi('LeaseCreate');
export type LeaseCreate = z.infer<typeof LeaseCreate>;

export const Lease = z
  .object({
    id: Id,
    label: z.string().nullable(),
    graceS: z.number(),
    onExpire: z.enum(['kill', 'pause']),
    state: z.enum(['held', 'grace', 'expired']),
    createdAt: Time,
    expiresAt: Time.nullable(),
    sandboxes: z.number().describe('live sandboxes it owns'),
  })
  .openapi('Lease');
export type Lease = z.infer<typeof Lease>;
