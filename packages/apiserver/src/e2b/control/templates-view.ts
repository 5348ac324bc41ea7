import { LIMITS } from '@vivarium/protocol';
import type { E2bContext } from '../context.ts';
import type { BuildRow } from '../store/build-table.ts';
import type { TemplateRow } from '../store/template-table.ts';
import { ENVD_VERSION } from './sandbox-view.ts';

const time = (ms: number) => new Date(ms).toISOString();

/** An item of a list of templates. */
export function templateView({ store }: Pick<E2bContext, 'store'>, template: TemplateRow): object {
  const builds = store.builds.ofTemplate(template.id);
  const shown = builds.find(({ status }) => status === 'ready') ?? builds[0];
  return {
    ...commonView(template),
    buildID: shown?.id ?? '',
    buildStatus: shown?.status ?? 'waiting',
    buildCount: builds.length,
    ...sizeView(shown),
    diskSizeMB: shown?.diskMiB ?? LIMITS.diskMiB.default,
    envdVersion: ENVD_VERSION,
    createdBy: null,
  };
}

/** A template with some of its builds. */
export function templateWithBuilds(template: TemplateRow, builds: readonly BuildRow[]): object {
  return { ...commonView(template), builds: builds.map(buildView) };
}

function buildView(build: BuildRow): object {
  const { id, status, createdAtMs, updatedAtMs, finishedAtMs, diskMiB } = build;
  return {
    buildID: id,
    status,
    createdAt: time(createdAtMs),
    updatedAt: time(updatedAtMs),
    ...(finishedAtMs !== null && { finishedAt: time(finishedAtMs) }),
    ...sizeView(build),
    diskSizeMB: diskMiB ?? LIMITS.diskMiB.default,
    envdVersion: ENVD_VERSION,
  };
}

function commonView(template: TemplateRow): object {
  const { id, name, createdAtMs, updatedAtMs, spawnCount, lastSpawnedAtMs } = template;
  return {
    templateID: id,
    names: [name],
    aliases: [name],
    public: template.public,
    createdAt: time(createdAtMs),
    updatedAt: time(updatedAtMs),
    spawnCount,
    lastSpawnedAt: lastSpawnedAtMs === null ? null : time(lastSpawnedAtMs),
  };
}

function sizeView(build: BuildRow | undefined): object {
  return {
    cpuCount: build?.cpus ?? LIMITS.cpus.default,
    memoryMB: build?.memoryMiB ?? LIMITS.memoryMiB.default,
  };
}
