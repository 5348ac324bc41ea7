import { ImageConfig, Labels } from '@vivarium/protocol';
import { z } from 'zod';
import { BlobDigest } from './descriptor.ts';

const strings = z.array(z.string()).nullish();
const nanoseconds = z.number().nullish();

/** OCI image-spec, config.md, and what Docker adds (Healthcheck, Shell). What we have no use for passes unread. */
export const OciConfig = z.object({
  os: z.string().optional(),
  architecture: z.string().optional(),
  rootfs: z.object({
    diff_ids: z
      .array(BlobDigest)
      .max(1000)
      .nullish()
      .transform((ids) => ids ?? []),
  }),
  history: z.array(z.object({ created_by: z.string().nullish(), empty_layer: z.boolean().nullish() })).nullish(),
  config: z
    .object({
      Env: strings,
      WorkingDir: z.string().nullish(),
      User: z.string().nullish(),
      Entrypoint: strings,
      Cmd: strings,
      Labels: z.record(z.string(), z.string()).nullish(),
      ExposedPorts: z.record(z.string(), z.unknown()).nullish(),
      Volumes: z.record(z.string(), z.unknown()).nullish(),
      StopSignal: z.string().nullish(),
      Shell: strings,
      Healthcheck: z
        .object({
          Test: strings,
          Interval: nanoseconds,
          Timeout: nanoseconds,
          StartPeriod: nanoseconds,
          StartInterval: nanoseconds,
          Retries: z.number().nullish(),
        })
        .nullish(),
    })
    .nullish(),
});
export type OciConfig = z.infer<typeof OciConfig>;
type Run = NonNullable<OciConfig['config']>;

const LABELS_MAX = 64;

/** The config as ours. What does not fit into it is left out, and said. */
export function imageConfigOf(oci: OciConfig): { config: ImageConfig; warnings: string[] } {
  const run = oci.config ?? {};
  const warnings: string[] = [];
  const volumes = Object.keys(run.Volumes ?? {});
  if (volumes.length > 0) warnings.push(`volumes are ordinary directories here: ${volumes.slice(0, 5).join(', ')}`);
  const candidates: Record<string, unknown> = {
    cwd: run.WorkingDir ? `/${run.WorkingDir.replace(/^\/+/, '')}` : undefined,
    user: run.User || undefined,
    entrypoint: filled(run.Entrypoint),
    cmd: filled(run.Cmd),
    shell: filled(run.Shell),
    exposedPorts: filled(
      Object.keys(run.ExposedPorts ?? {}).map((port) => (port.includes('/') ? port : `${port}/tcp`)),
    ),
    stopSignal: run.StopSignal || undefined,
    healthcheck: healthcheckOf(run),
  };
  const config: Record<string, unknown> = { env: envOf(run, warnings), labels: labelsOf(run, warnings) };
  for (const [field, value] of Object.entries(candidates)) {
    if (value === undefined) continue;
    if (ImageConfig.safeParse({ [field]: value }).success) config[field] = value;
    else
      warnings.push(`${field} of the image's config is left out: ${JSON.stringify(value).slice(0, 100)} is not usable`);
  }
  return { config: ImageConfig.parse(config), warnings };
}

function filled<T>(list: readonly T[] | null | undefined): readonly T[] | undefined {
  return list && list.length > 0 ? list : undefined;
}

function envOf({ Env }: Run, warnings: string[]): Record<string, string> {
  const env: Record<string, string> = {};
  for (const each of Env ?? []) {
    const at = each.indexOf('=');
    const [name, value] = at < 0 ? [each, ''] : [each.slice(0, at), each.slice(at + 1)];
    if (ImageConfig.safeParse({ env: { [name]: value } }).success) env[name] = value;
    else warnings.push(`variable ${name.slice(0, 100)} is left out: its name or value is not usable`);
  }
  return env;
}

function labelsOf({ Labels: all }: Run, warnings: string[]): Record<string, string> {
  const entries = Object.entries(all ?? {});
  const usable = entries.filter(([key, value]) => Labels.safeParse({ [key]: value }).success).slice(0, LABELS_MAX);
  const count = entries.length - usable.length;
  if (count > 0) warnings.push(`${count} labels are left out: too long, too many, or with names that are not usable`);
  return Object.fromEntries(usable);
}

function healthcheckOf({ Healthcheck: check }: Run): unknown {
  if (!check?.Test || check.Test.length === 0) return undefined;
  const fields = {
    intervalMs: milliseconds(check.Interval),
    timeoutMs: milliseconds(check.Timeout),
    startPeriodMs: milliseconds(check.StartPeriod),
    startIntervalMs: milliseconds(check.StartInterval),
    retries: check.Retries || undefined,
  };
  return { test: check.Test, ...Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) };
}

function milliseconds(value: number | null | undefined): number | undefined {
  return value ? Math.round(value / 1e6) : undefined;
}
