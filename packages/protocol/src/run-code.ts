import { z } from '@hono/zod-openapi';
import { FN_BODY_BYTES_MAX, FN_FILES_MAX, LanguageName } from './fn.ts';
import { ImageName } from './id.ts';

const seconds = z.number().gt(0).max(3600).default(10);

/** The request that clients of code runners with a route `/run_code` send. Fields that it does not know are ignored, as they do. */
export const RunCodeRequest = z
  .object({
    code: z.string().max(FN_BODY_BYTES_MAX),
    language: LanguageName,
    compile_timeout: seconds.describe('seconds'),
    run_timeout: seconds.describe('seconds'),
    memory_limit_MB: z.number().int().max(1_048_576).default(-1).describe('0 or less: the default'),
    stdin: z.string().nullable().default(null).describe('text'),
    files: z
      .record(z.string().min(1).max(4096), z.string().nullable())
      .refine((files) => Object.keys(files).length <= FN_FILES_MAX, `at most ${FN_FILES_MAX} files`)
      .default({})
      .describe('path → base64'),
    fetch_files: z.array(z.string().min(1).max(4096)).max(FN_FILES_MAX).default([]),
    args: z.array(z.string().max(131_072)).max(1024).default([]).describe('arguments of the program'),
    image: ImageName.optional().describe('not in the common shape; default base/debian@12'),
  })
  .openapi('RunCodeRequest');
export type RunCodeRequest = z.infer<typeof RunCodeRequest>;

export const RunCodeStep = z
  .object({
    status: z.enum(['Finished', 'Error', 'TimeLimitExceeded']),
    execution_time: z.number().nullable().describe('seconds'),
    return_code: z.number().int().nullable().describe('minus the signal that ended it'),
    stdout: z.string().nullable(),
    stderr: z.string().nullable(),
  })
  .openapi('RunCodeStep');
export type RunCodeStep = z.infer<typeof RunCodeStep>;

export const RunCodeResponse = z
  .object({
    status: z
      .enum(['Success', 'Failed', 'SandboxError'])
      .describe(
        '`Failed`: a step ended with another code than 0, or ran out of time; `SandboxError`: not the code’s doing',
      ),
    message: z.string(),
    compile_result: RunCodeStep.nullable(),
    run_result: RunCodeStep.nullable(),
    executor_pod_name: z.string().nullable().describe('the sandbox it ran in'),
    files: z.record(z.string(), z.string()).describe('path as asked for → base64'),
  })
  .openapi('RunCodeResponse');
export type RunCodeResponse = z.infer<typeof RunCodeResponse>;
