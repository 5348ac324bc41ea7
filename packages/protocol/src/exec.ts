import { z } from '@hono/zod-openapi';
import { Env, Id, Time, UserSpec } from './id.ts';

export const WinSize = z
  .strictObject({ rows: z.number().int().min(1).max(65_535), cols: z.number().int().min(1).max(65_535) })
  .openapi('WinSize');
export type WinSize = z.infer<typeof WinSize>;

/** Default of what is kept per stream in the journal and returned by unary calls. */
export const OUTPUT_KEPT_BYTES_DEFAULT = 16 * 1024 * 1024;
export const OUTPUT_KEPT_BYTES_MAX = 64 * 1024 * 1024;

export const ExecStart = z
  .strictObject({
    argv: z
      .array(
        z
          .string()
          .max(131_072)
          .refine((v) => !v.includes('\0'), 'no NUL'),
      )
      .min(1)
      .max(4096)
      .optional()
      .describe('program and arguments, no shell'),
    command: z.string().min(1).max(131_072).optional().describe('run by /bin/sh -c; exactly one of argv and command'),
    env: Env.default({}),
    cwd: z
      .string()
      .min(1)
      .max(4096)
      .optional()
      .describe('default: that of the sandbox; a relative one is beneath the user’s home'),
    user: UserSpec.optional(),
    stdin: z
      .string()
      .max(1_400_000)
      .optional()
      .describe('base64; written, then EOF (unary calls; streams send it as data)'),
    pty: WinSize.optional(),
    timeoutMs: z
      .number()
      .int()
      .min(1)
      .max(30 * 86_400_000)
      .optional()
      .describe('absent: none'),
    keepBytes: z
      .number()
      .int()
      .min(0)
      .max(OUTPUT_KEPT_BYTES_MAX)
      .default(OUTPUT_KEPT_BYTES_DEFAULT)
      .describe('kept per stream'),
    outputLimitBytes: z
      .number()
      .int()
      .min(1)
      .optional()
      .describe(
        'more than this on stdout and stderr together ends the command (output_limit); absent for streams: no limit; unary: keepBytes ends nothing, it truncates what is kept',
      ),
    detach: z.boolean().default(false).describe('answer once it runs'),
    rlimits: z
      .record(
        z.enum(['core', 'cpu', 'fsize', 'nofile', 'stack', 'as', 'nproc', 'memlock', 'data']),
        z.number().int().min(0),
      )
      .optional(),
    label: z.string().max(200).optional(),
  })
  .refine((e) => (e.argv === undefined) !== (e.command === undefined), { error: 'exactly one of argv and command' })
  .openapi('ExecStart');
export type ExecStart = z.infer<typeof ExecStart>;
export type ExecStartInput = z.input<typeof ExecStart>;

/** How a command ended. `spawn_failed` carries the shell's code (127 not found, 126 not executable). */
export const Outcome = z
  .discriminatedUnion('type', [
    z.object({ type: z.literal('exited'), code: z.number().int() }),
    z.object({ type: z.literal('signaled'), signal: z.number().int() }),
    z.object({ type: z.literal('timeout') }),
    z.object({ type: z.literal('oom') }),
    z.object({ type: z.literal('output_limit') }),
    z.object({ type: z.literal('canceled') }),
    z.object({ type: z.literal('sandbox_lost') }),
  ])
  .openapi('Outcome');
export type Outcome = z.infer<typeof Outcome>;

/** Quotas of the sandbox that were hit while it ran: annotations, not outcomes. `throttled`: its CPU quota made it wait for 100 ms and a tenth of its time. */
export const Annotation = z.enum(['disk_limit', 'pids_limit', 'memory_limit', 'output_truncated', 'throttled']);

export const StreamSummary = z
  .object({
    bytes: z.number().describe('all that the command wrote'),
    keptBytes: z.number(),
    truncated: z.boolean(),
    sha256: z
      .string()
      .nullable()
      .describe('of all that it wrote; null while running or when a restart left bytes beyond the kept part unhashed'),
  })
  .openapi('StreamSummary');
export type StreamSummary = z.infer<typeof StreamSummary>;

export const Exec = z
  .object({
    id: Id,
    sandbox: Id,
    seq: z.number().int().describe('position in the sandbox’s journal'),
    argv: z.array(z.string()),
    user: z.string().nullable(),
    cwd: z.string().nullable(),
    pty: z.boolean(),
    label: z.string().nullable(),
    state: z.enum(['starting', 'running', 'ended']),
    pid: z.number().nullable().describe('inside the sandbox'),
    startedAt: Time,
    endedAt: Time.nullable(),
    durationMs: z.number().nullable(),
    outcome: Outcome.nullable(),
    exitCode: z
      .number()
      .nullable()
      .describe('as a shell would say it: code, 128+signal, 124 timeout, 137 oom; null while running'),
    message: z.string().nullable().describe('why it could not start, or what ended it'),
    annotations: z
      .array(Annotation)
      .describe(
        'quotas of the sandbox that were hit while it ran; throttled: the CPU quota made it wait for at least 100 ms and a tenth of its time',
      ),
    stdout: StreamSummary,
    stderr: StreamSummary,
    cpuMs: z.number().nullable(),
    maxRssKiB: z.number().nullable(),
  })
  .openapi('Exec');
export type Exec = z.infer<typeof Exec>;

/** A unary result: the exec plus what was kept of its output, base64 (bytes need not be UTF-8). */
export const ExecResult = Exec.extend({ stdoutB64: z.string(), stderrB64: z.string() }).openapi('ExecResult');
export type ExecResult = z.infer<typeof ExecResult>;

export const SignalRequest = z
  .strictObject({
    signal: z.union([z.number().int().min(1).max(64), z.string().regex(/^(SIG)?[A-Z0-9+]{2,12}$/)]).default('TERM'),
    scope: z
      .enum(['process', 'group', 'tree'])
      .default('process')
      .describe('tree: everything the command started, also what left its session; always SIGKILL for tree with KILL'),
  })
  .openapi('SignalRequest');
export type SignalRequest = z.infer<typeof SignalRequest>;
