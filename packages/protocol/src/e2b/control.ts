import { z } from 'zod';

/**
 * Messages of the E2B control plane about sandboxes, as its published clients send and read them. Unknown fields are dropped, as
 * E2B's own server does: newer clients may send more than is known here.
 */

const seconds = z
  .number()
  .int()
  .min(0)
  .max(30 * 86_400);
const text = z.string();
const strings = z.record(z.string(), z.string());

/** Selects where traffic may go; stored and given back. */
export const E2bNetwork = z.object({
  allowOut: z.array(text.max(253)).max(1000).optional(),
  denyOut: z.array(text.max(253)).max(1000).optional(),
  allowPublicTraffic: z.boolean().optional(),
  maskRequestHost: text.max(253).optional(),
  httpsPorts: z.array(z.number().int().min(1).max(65_535)).max(100).optional(),
  rules: z.record(z.string(), z.unknown()).nullish(),
  egressProxy: z.record(z.string(), z.unknown()).nullish(),
});
export type E2bNetwork = z.infer<typeof E2bNetwork>;

export const E2bVolumeMount = z.object({ name: text.min(1).max(200), path: text.min(1).max(4096) });
export type E2bVolumeMount = z.infer<typeof E2bVolumeMount>;

/** `POST /v2/sandboxes`; version 1 has `secure` besides and another default time-out. */
export const E2bCreate = z.object({
  templateID: text.min(1).max(300),
  timeout: seconds.nullish(),
  secure: z.boolean().nullish(),
  metadata: strings.nullish(),
  envVars: strings.nullish(),
  allow_internet_access: z.boolean().nullish(),
  network: E2bNetwork.nullish(),
  autoPause: z.boolean().nullish(),
  autoPauseMemory: z.boolean().nullish(),
  autoResume: z.object({ enabled: z.boolean().nullish() }).nullish(),
  volumeMounts: z.array(E2bVolumeMount).max(16).nullish(),
  mcp: z.record(z.string(), z.unknown()).nullish(),
  iam: z.record(z.string(), z.unknown()).nullish(),
});
export type E2bCreate = z.infer<typeof E2bCreate>;
