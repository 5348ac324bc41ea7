import { z } from '@hono/zod-openapi';
import { Exec, ExecResult } from './exec.ts';
import { Env, Id, ImageName, Time, UserSpec } from './id.ts';
import { Limits } from './sandbox.ts';

/** What one call may bring, take and last. A body holds code, input and files together. */
export const FN_BODY_BYTES_MAX = 16 * 1024 * 1024;
export const FN_FILES_MAX = 256;
export const FN_TIMEOUT_MS = { default: 30_000, max: 3_600_000 } as const;
/** Kept of each stream. */
export const FN_KEPT_BYTES = { default: 1024 * 1024, max: 16 * 1024 * 1024 } as const;
/** Of all files of an answer together. */
export const FN_FILES_OUT_BYTES_MAX = 16 * 1024 * 1024;
export const FN_SESSION_IDLE_S = { default: 600, max: 86_400 } as const;
export const FN_WARM_MAX = 64;
/** Where the code and files of a call lie and its programs start, unless it says otherwise. */
export const FN_CWD = '/tmp/fn';

export const LanguageName = z
  .string()
  .regex(/^[A-Za-z0-9][A-Za-z0-9_+#.-]{0,31}$/, 'a language is named with up to 32 letters, digits and `_+#.-`');
export const SessionName = z
  .string()
  .regex(/^[A-Za-z0-9_-]{1,64}$/, 'a session is named with 1 to 64 letters, digits, `_` and `-`');

const NoNul = z
  .string()
  .max(131_072)
  .refine((v) => !v.includes('\0'), 'no NUL');
const base64 = z.string().regex(/^[A-Za-z0-9+/]*={0,2}$/, 'is base64');
const milliseconds = z
  .number()
  .int()
  .min(1)
  .max(FN_TIMEOUT_MS.max, { error: `limit_too_high: at most ${FN_TIMEOUT_MS.max} ms` })
  .default(FN_TIMEOUT_MS.default);
/** Absolute, or beneath the call’s directory. */
const FilePath = z
  .string()
  .min(1)
  .max(4096)
  .refine((path) => !path.includes('\0'), 'no NUL')
  .refine((path) => !/(^|\/)\.\.(\/|$)/.test(path), 'a path without ..');

export const FnFileIn = z
  .strictObject({
    path: FilePath.describe('absolute, or beneath `cwd`; missing directories are made'),
    contentB64: base64.describe('base64'),
    mode: z.number().int().min(0).max(0o7777).optional().describe('default 0o644'),
  })
  .openapi('FnFileIn');
export type FnFileIn = z.infer<typeof FnFileIn>;

export const FnRequest = z
  .strictObject({
    image: ImageName,
    language: LanguageName.optional().describe(
      'one that the image has (`GET /v1/fn/languages`); exactly one of language and argv',
    ),
    code: z.string().max(FN_BODY_BYTES_MAX).optional().describe('the program, with `language`'),
    args: z.array(NoNul).max(1024).default([]).describe('arguments of that program'),
    argv: z.array(NoNul).min(1).max(4096).optional().describe('program and arguments, no shell'),
    stdin: base64.max(FN_BODY_BYTES_MAX).optional().describe('base64; written, then EOF'),
    files: z.array(FnFileIn).max(FN_FILES_MAX).default([]).describe('put there first'),
    filesOut: z
      .array(FilePath)
      .max(FN_FILES_MAX)
      .default([])
      .describe('paths to take at the end, also `*`, `?`, `[…]` and `**`; absolute, or beneath `cwd`'),
    filesOutMaxBytes: z.number().int().min(0).max(FN_FILES_OUT_BYTES_MAX).default(FN_FILES_OUT_BYTES_MAX),
    env: Env.default({}),
    cwd: z.string().startsWith('/').max(4096).optional().describe(`default ${FN_CWD}`),
    user: UserSpec.optional(),
    limits: Limits.prefault({}),
    timeoutMs: milliseconds.describe('of the program; ends it and all it started'),
    compileTimeoutMs: milliseconds,
    keepBytes: z.number().int().min(0).max(FN_KEPT_BYTES.max).default(FN_KEPT_BYTES.default).describe('per stream'),
    outputLimitBytes: z.number().int().min(1).optional().describe('more than this ends the program (output_limit)'),
    stateful: z
      .union([z.literal(false), z.literal('session')])
      .default(false)
      .describe(
        '`session`: in a container that lives on for the next calls; without a name in `session` one is made up',
      ),
    session: SessionName.optional().describe(
      'calls with the same name share a container, one after the other; the first one makes it. Names of different API keys don’t meet',
    ),
    sessionIdleS: z
      .number()
      .int()
      .min(1)
      .max(FN_SESSION_IDLE_S.max)
      .default(FN_SESSION_IDLE_S.default)
      .describe('a session ends this long after its last call'),
  })
  .refine((fn) => (fn.argv === undefined) !== (fn.language === undefined), {
    error: 'exactly one of language and argv',
  })
  .refine((fn) => (fn.language === undefined) === (fn.code === undefined), {
    error: '`code` goes with `language`, and only with it',
    path: ['code'],
  })
  .refine((fn) => fn.language !== undefined || fn.args.length === 0, {
    error: '`args` goes with `language`; with `argv` put them there',
    path: ['args'],
  })
  .openapi('FnRequest');
export type FnRequest = z.infer<typeof FnRequest>;
export type FnRequestInput = z.input<typeof FnRequest>;

export const FnFileOut = z
  .object({ path: z.string(), contentB64: z.string(), sizeBytes: z.number(), mode: z.number().int() })
  .openapi('FnFileOut');
export type FnFileOut = z.infer<typeof FnFileOut>;

/** Something of `filesOut` that is not in `files`, and why. */
export const FnFileLeft = z
  .object({ path: z.string(), reason: z.string().describe('`not_found`, or why it was not brought') })
  .openapi('FnFileLeft');
export type FnFileLeft = z.infer<typeof FnFileLeft>;

/** The result of a call: that of its last command, and what is around it. */
export const FnResult = ExecResult.extend({
  image: ImageName,
  session: SessionName.nullable(),
  cold: z.boolean().describe('no container was ready: one was made for this call'),
  stage: z.enum(['compile', 'run']).describe('`compile`: that failed, the program did not run, and this is its result'),
  compile: ExecResult.nullable().describe('null where the language has no such step'),
  files: z.array(FnFileOut),
  filesLeft: z.array(FnFileLeft),
  durations: z.object({
    waitMs: z.number().describe('until there was a clean container'),
    filesInMs: z.number(),
    compileMs: z.number(),
    runMs: z.number(),
    filesOutMs: z.number(),
    totalMs: z.number(),
  }),
}).openapi('FnResult');
export type FnResult = z.infer<typeof FnResult>;

/** Containers of one API key for one image and one set of limits. */
export const FnPool = z
  .object({
    image: ImageName,
    key: z.string().describe('id of the API key'),
    limits: Limits,
    ready: z.number().int().describe('clean, waiting for a call'),
    busy: z.number().int().describe('in a call or a session'),
    preparing: z.number().int(),
    wanted: z.number().int().describe('as many are to be ready now'),
    calls: z.number().int(),
    coldCalls: z.number().int(),
  })
  .openapi('FnPool');
export type FnPool = z.infer<typeof FnPool>;

export const FnWarm = z
  .strictObject({
    image: ImageName,
    limits: Limits.prefault({}),
    count: z
      .number()
      .int()
      .min(1)
      .max(FN_WARM_MAX, { error: `limit_too_high: count is at most ${FN_WARM_MAX}` })
      .default(1),
  })
  .openapi('FnWarm');
export type FnWarm = z.infer<typeof FnWarm>;
export type FnWarmInput = z.input<typeof FnWarm>;

export const FnSession = z
  .object({
    name: SessionName,
    key: z.string().describe('id of the API key'),
    sandbox: Id,
    image: ImageName,
    running: Exec.nullable(),
    lastUsedAt: Time,
  })
  .openapi('FnSession');
export type FnSession = z.infer<typeof FnSession>;

/** How code of a language becomes a program. */
export const FnLanguage = z
  .object({
    name: z.string(),
    aliases: z.array(z.string()),
    file: z.string().describe('what the code is written to'),
    compile: z.array(z.string()).nullable(),
    run: z.array(z.string()),
    available: z.boolean().describe('the image has the programs it needs'),
    missing: z.array(z.string()).describe('those that it has not'),
  })
  .openapi('FnLanguage');
export type FnLanguage = z.infer<typeof FnLanguage>;
