import { z } from 'zod';
import { uint32 } from './proto-json.ts';

/**
 * Messages of envd's service `process.Process` in the JSON form of protobuf: defaults may be left out or null, numbers may be strings,
 * enum values are names or numbers, bytes are base64, fields that are not known are dropped.
 */

/** A field that may be left out or null, which mean the same. */
const optional = <S extends z.ZodType>(schema: S) => schema.nullish().transform((value) => value ?? undefined);

const noNul = z.string().refine((text) => !text.includes('\0'), 'no NUL');
/** Base64, also the URL-safe kind and without padding. */
const bytes = z.string().regex(/^[A-Za-z0-9+/_-]*={0,2}$/, 'not base64');

const PtySize = z.object({ cols: optional(uint32), rows: optional(uint32) });
const Pty = z.object({ size: optional(PtySize) });

/** One of the two. */
export const ProcessSelector = z.object({ pid: optional(uint32), tag: optional(z.string()) });
export type ProcessSelector = z.infer<typeof ProcessSelector>;
const process = ProcessSelector.nullish().transform((selector) => selector ?? ProcessSelector.parse({}));

export const ProcessConfig = z.object({
  cmd: optional(noNul.max(131_072)),
  args: optional(z.array(noNul.max(131_072)).max(4095)),
  envs: optional(
    z
      .record(
        noNul.refine((name) => name !== '' && !name.includes('='), 'a name is not empty and has no ='),
        noNul.max(131_072),
      )
      .refine((envs) => Object.keys(envs).length <= 1024, 'at most 1024 variables'),
  ),
  cwd: optional(noNul.max(4096)),
});
export type ProcessConfig = z.infer<typeof ProcessConfig>;

export const StartRequest = z.object({
  process: ProcessConfig.nullish().transform((config) => config ?? ProcessConfig.parse({})),
  pty: optional(Pty),
  tag: optional(z.string().max(200)),
  stdin: optional(z.boolean()).describe('absent: true, as the first clients expect'),
});
export type StartRequest = z.infer<typeof StartRequest>;

export const ListRequest = z.object({});
export const ConnectRequest = z.object({ process });
export const UpdateRequest = z.object({ process, pty: optional(Pty) });

/** One of the two. */
export const ProcessInput = z.object({ stdin: optional(bytes), pty: optional(bytes) });
export type ProcessInput = z.infer<typeof ProcessInput>;
const input = ProcessInput.nullish().transform((given) => given ?? ProcessInput.parse({}));

export const SendInputRequest = z.object({ process, input });
export const CloseStdinRequest = z.object({ process });

/** One of the three; `start` comes first and names the process. */
export const StreamInputRequest = z.object({
  start: optional(z.object({ process })),
  data: optional(z.object({ input })),
  keepalive: optional(z.object({})),
});

export const SendSignalRequest = z.object({
  process,
  signal: optional(z.union([z.string(), z.number().int()])).describe('SIGNAL_SIGTERM (15) or SIGNAL_SIGKILL (9)'),
});

export type ProcessInfo = {
  config: { cmd: string; args: readonly string[]; envs: Record<string, string>; cwd?: string };
  pid: number;
  tag?: string;
};

/** The end of a process; texts and codes are those of Go's os.ProcessState. */
export type ProcessEnd = { exitCode: number; exited: boolean; status: string; error?: string };
