import { z } from 'zod';

/**
 * Messages of the E2B control plane about sandboxes, as its published clients send them. Unknown fields are dropped, as E2B's own
 * server does: newer clients may send more than is known here. `null` is as good as left out.
 */

const seconds = z
  .number()
  .int()
  .min(0)
  .max(30 * 86_400);
const strings = z.record(z.string(), z.string());
const hosts = z.array(z.string().min(1).max(260)).max(1000);

/** What rewrites requests on their way out; stored and given back. */
const rules = z.record(
  z.string().min(1).max(253),
  z.array(z.object({ transform: z.object({ headers: strings.nullish() }).nullish() })).max(20),
);
const proxy = z.object({
  address: z.string().min(1).max(260),
  username: z.string().max(255).nullish(),
  password: z.string().max(255).nullish(),
});

/** Who may be reached from inside, and how the ports inside are reached. */
export const E2bNetwork = z.object({
  allowOut: hosts.nullish(),
  denyOut: hosts.nullish(),
  rules: rules.nullish(),
  egressProxy: proxy.nullish(),
  allowPublicTraffic: z.boolean().nullish(),
  maskRequestHost: z.string().min(1).max(260).nullish(),
  httpsPorts: z.array(z.number().int().min(1).max(65_535)).max(100).nullish(),
});
export type E2bNetwork = z.infer<typeof E2bNetwork>;

export const E2bVolumeMount = z.object({ name: z.string().min(1).max(200), path: z.string().min(1).max(4096) });
export type E2bVolumeMount = z.infer<typeof E2bVolumeMount>;

/** `POST /v2/sandboxes`; version 1 has `secure` besides and another default time-out. */
export const E2bCreate = z.object({
  templateID: z.string().min(1).max(300),
  timeout: seconds.nullish(),
  secure: z.boolean().nullish(),
  metadata: strings.nullish(),
  envVars: strings.nullish(),
  allow_internet_access: z.boolean().nullish(),
  network: E2bNetwork.nullish(),
  autoPause: z.boolean().nullish(),
  autoPauseMemory: z.boolean().nullish(),
  autoResume: z.object({ enabled: z.boolean().nullish() }).nullish(),
  volumeMounts: z.array(E2bVolumeMount).max(64).nullish(),
  mcp: z.record(z.string(), z.unknown()).nullish(),
  iam: z.object({ tokens: z.record(z.string(), z.unknown()).nullish() }).nullish(),
});
export type E2bCreate = z.infer<typeof E2bCreate>;

/** `memory: false` starts a paused sandbox anew over its files. */
export const E2bConnect = z.object({ timeout: seconds.nullish(), memory: z.boolean().nullish() });
export const E2bResume = z.object({ timeout: seconds.nullish(), autoPause: z.boolean().nullish() });
export const E2bTimeout = z.object({ timeout: seconds, extendOnly: z.boolean().nullish() });
export const E2bRefresh = z.object({ duration: seconds.nullish() });
export const E2bPause = z.object({ memory: z.boolean().nullish() });
export const E2bFork = z.object({
  timeout: seconds.nullish(),
  count: z.number().int().min(1).max(100).nullish(),
});
export const E2bSnapshotCreate = z.object({ name: z.string().min(1).max(128).nullish() });

/** What is left out is cleared. */
export const E2bNetworkUpdate = E2bNetwork.pick({
  allowOut: true,
  denyOut: true,
  rules: true,
  egressProxy: true,
}).extend({
  allow_internet_access: z.boolean().nullish(),
});

const limit = z.coerce.number().int().min(1).max(100).default(100);
export const E2bListQuery = z.object({
  metadata: z.string().max(100_000).optional(),
  state: z.array(z.enum(['running', 'paused'])).optional(),
  template: z.string().max(300).optional(),
  startedAfter: z.string().datetime({ offset: true }).optional(),
  order: z.enum(['asc', 'desc']).default('desc'),
  limit,
  nextToken: z.string().max(500).optional(),
});
export type E2bListQuery = z.infer<typeof E2bListQuery>;
/** Version 1 of the list knows running sandboxes only and has no pages. */
export const E2bListQueryV1 = E2bListQuery.pick({ metadata: true, state: true });

export const E2bSnapshotQuery = z.object({
  sandboxID: z.string().max(300).optional(),
  name: z.string().max(300).optional(),
  limit,
  nextToken: z.string().max(500).optional(),
});

const unixSeconds = z.coerce
  .number()
  .min(0)
  .max(2 ** 40);
export const E2bMetricsQuery = z.object({ start: unixSeconds.optional(), end: unixSeconds.optional() });
export const E2bManyMetricsQuery = z.object({ sandbox_ids: z.string().min(1).max(4000) });
export const E2bLogsQuery = z.object({
  start: z.coerce.number().min(0).optional(),
  cursor: z.coerce.number().min(0).optional(),
  limit: z.coerce.number().int().min(0).max(1000).default(1000),
  direction: z.enum(['forward', 'backward']).optional(),
});
