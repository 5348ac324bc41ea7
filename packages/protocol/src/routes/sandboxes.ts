import { z } from '@hono/zod-openapi';
import { Id, ImageName, PageQuery, page, Time } from '../id.ts';
import { JournalRecord, LogsQuery } from '../journal.ts';
import {
  Change,
  Kind,
  LISTED_KINDS,
  MountRequest,
  PauseRequest,
  ProcessInfo,
  Sandbox,
  SandboxCreate,
  SandboxState,
  SandboxUpdate,
  Stats,
  SweepRequest,
  UnmountQuery,
} from '../sandbox.ts';
import { routes } from './route.ts';

/** Longest time a request may wait on the server's side. */
export const WAIT_MS_MAX = 600_000;
export const waitMs = z.coerce.number().int().min(0).max(WAIT_MS_MAX);

export const SandboxListQuery = PageQuery.extend({
  label: z
    .array(
      z
        .string()
        .max(400)
        .regex(/^[^=]+=/, 'a label filter is key=value'),
    )
    .max(64)
    .default([])
    .describe('`key=value`; repeated: all must match'),
  state: z.array(SandboxState).max(8).default([]).describe('repeated or separated by commas: one must match'),
  lease: Id.optional(),
  metadata: z
    .string()
    .max(65_536)
    .optional()
    .describe(
      'form-encoded pairs (`user=a%20b&run=7`), the whole encoded once more as every parameter is: all must match',
    ),
  kind: z
    .array(Kind)
    .max(8)
    .default([...LISTED_KINDS])
    .describe('repeated or separated by commas: one must match; containers for calls (`fn`) only when asked for'),
  image: z.array(ImageName).max(64).default([]).describe('repeated: one must match'),
  startedAfter: Time.optional().describe('began to run after this time'),
  order: z.enum(['asc', 'desc']).default('desc').describe('of their creation; `desc`: newest first'),
});
export const StatsHistoryQuery = z.object({
  from: Time.optional(),
  to: Time.optional(),
});
export const SandboxWaitQuery = z.object({
  state: z.array(SandboxState).min(1).max(8).default(['ended', 'failed']).describe('repeated or separated by commas'),
  waitMs: waitMs.default(30_000),
});

const scope = ['sandboxes'] as const;
const tag = 'sandboxes';
const one = '/v1/sandboxes/{id}';

export const SANDBOX_ROUTES = routes({
  'sandbox.create': {
    method: 'POST',
    path: '/v1/sandboxes',
    tag,
    scope,
    summary: 'Create a sandbox',
    description: 'Answers when it runs. The answer carries the sandbox’s token for direct traffic.',
    body: SandboxCreate,
    idempotent: true,
    status: 200,
    result: Sandbox,
    errors: [
      'image_not_found',
      'image_corrupt',
      'lease_not_found',
      'idempotency_mismatch',
      'quota_exceeded',
      'node_full',
      'node_disk_full',
      'too_many_requests',
      'unsupported',
      'shutting_down',
    ],
  },
  'sandbox.list': {
    method: 'GET',
    path: '/v1/sandboxes',
    tag,
    scope,
    summary: 'List sandboxes',
    description: 'A page at a time. The cursor stays right while sandboxes come and go; it belongs to one `order`.',
    query: SandboxListQuery,
    status: 200,
    result: page(Sandbox),
    errors: [],
  },
  'sandbox.get': {
    method: 'GET',
    path: one,
    tag,
    scope,
    summary: 'Inspect a sandbox',
    description: 'With its token.',
    status: 200,
    result: Sandbox,
    errors: ['sandbox_not_found'],
  },
  'sandbox.update': {
    method: 'PATCH',
    path: one,
    tag,
    scope,
    summary: 'Change time-outs, labels or metadata',
    body: SandboxUpdate,
    status: 200,
    result: Sandbox,
    errors: ['sandbox_not_found', 'sandbox_dead'],
  },
  'sandbox.kill': {
    method: 'DELETE',
    path: one,
    tag,
    scope,
    summary: 'End a sandbox',
    description: 'Idempotent: one that has ended is answered as it is.',
    status: 200,
    result: Sandbox,
    errors: ['sandbox_not_found'],
  },
  'sandbox.pause': {
    method: 'POST',
    path: `${one}/pause`,
    tag,
    scope,
    summary: 'Freeze it, or end its processes and keep its files',
    description:
      'By default every process stands still and its clock too: nothing but a call ends it. Without memory the processes end and it starts anew when it is resumed: same id, files, variables, endpoints, mounts and token. Paused already is fine; `memory: false` then frees the memory of a frozen one.',
    body: PauseRequest,
    status: 200,
    result: Sandbox,
    errors: ['sandbox_not_found', 'sandbox_dead', 'state_conflict'],
  },
  'sandbox.resume': {
    method: 'POST',
    path: `${one}/resume`,
    tag,
    scope,
    summary: 'Let it run on',
    description: 'With its full time to live, if its clock had been stopped. Running already is fine.',
    status: 200,
    result: Sandbox,
    errors: [
      'sandbox_not_found',
      'sandbox_dead',
      'state_conflict',
      'node_full',
      'node_disk_full',
      'too_many_requests',
      'shutting_down',
    ],
  },
  'sandbox.mount': {
    method: 'POST',
    path: `${one}/mounts`,
    tag,
    scope,
    summary: 'Mount an image in it',
    description:
      'Read-only, while it runs. Neither path is followed through a link. It may hide what is there; the sandbox’s own programs can’t take it away.',
    body: MountRequest,
    status: 204,
    errors: [
      'sandbox_not_found',
      'sandbox_dead',
      'sandbox_paused',
      'image_not_found',
      'path_not_found',
      'path_exists',
      'quota_exceeded',
      'unsupported',
    ],
  },
  'sandbox.unmount': {
    method: 'DELETE',
    path: `${one}/mounts`,
    tag,
    scope,
    summary: 'Take a mounted image away',
    query: UnmountQuery,
    status: 204,
    errors: ['sandbox_not_found', 'sandbox_dead', 'sandbox_paused'],
  },
  'sandbox.sweep': {
    method: 'POST',
    path: `${one}/sweep`,
    tag,
    scope,
    summary: 'End its processes',
    description:
      'All of them, whatever started them, but those of running commands that have one of the labels. Commands end as `canceled`; the sandbox lives on.',
    body: SweepRequest,
    status: 200,
    result: z.object({ ended: z.number().int() }),
    errors: ['sandbox_not_found', 'sandbox_dead', 'sandbox_paused'],
  },
  'sandbox.wait': {
    method: 'GET',
    path: `${one}/wait`,
    tag,
    scope,
    summary: 'Wait for a state',
    description: 'Answers when it is in one of the states, or after `waitMs` with what it is then.',
    query: SandboxWaitQuery,
    status: 200,
    result: Sandbox,
    errors: ['sandbox_not_found'],
  },
  'sandbox.stats': {
    method: 'GET',
    path: `${one}/stats`,
    tag,
    scope,
    summary: 'What it uses now',
    status: 200,
    result: Stats,
    errors: ['sandbox_not_found', 'sandbox_dead'],
  },
  'sandbox.statsHistory': {
    method: 'GET',
    path: `${one}/stats/history`,
    tag,
    scope,
    summary: 'What it used',
    description:
      'Samples between two times, oldest first: every five seconds or, on a node with many sandboxes, rarer; older ones are thinned out. They last as long as the server runs.',
    query: StatsHistoryQuery,
    status: 200,
    result: z.object({ items: z.array(Stats) }),
    errors: ['sandbox_not_found', 'sandbox_dead'],
  },
  'sandbox.processes': {
    method: 'GET',
    path: `${one}/processes`,
    tag,
    scope,
    summary: 'Processes inside',
    status: 200,
    result: z.object({ items: z.array(ProcessInfo) }),
    errors: ['sandbox_not_found', 'sandbox_dead', 'sandbox_paused'],
  },
  'sandbox.changes': {
    method: 'GET',
    path: `${one}/changes`,
    tag,
    scope,
    summary: 'Paths that differ from the image',
    description: 'One Change per line. An error after the first line is a last line `{"error": …}`.',
    status: 200,
    result: Change,
    media: 'application/x-ndjson',
    errors: ['sandbox_not_found', 'sandbox_dead'],
  },
  'sandbox.logs': {
    method: 'GET',
    path: `${one}/logs`,
    tag,
    scope,
    summary: 'Its journal',
    description:
      'Records after `after`. `nextAfter` is null when there are no more for now; `logs.follow` on the connection gives them live.',
    query: LogsQuery,
    status: 200,
    result: z.object({ items: z.array(JournalRecord), nextAfter: z.number().int().nullable() }),
    errors: ['sandbox_not_found'],
  },
});
