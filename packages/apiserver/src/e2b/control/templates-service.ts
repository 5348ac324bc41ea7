import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { createIdSource, systemClock, systemRandom } from '@vivarium/core';
import { type Key, LIMITS, VivError } from '@vivarium/protocol';
import { isBuiltinTemplate } from '@vivarium/protocol/builtin-templates.ts';
import type { E2bTemplateRequest } from '@vivarium/protocol/e2b/template.ts';
import type { E2bContext } from '../context.ts';
import type { BuildRow } from '../store/build-table.ts';
import type { TemplateRow } from '../store/template-table.ts';
import { TemplateBuilds } from './builds-runner.ts';
import { dropImages } from './snapshots.ts';
import { TemplateFiles } from './template-files.ts';
import { imageOfBuild } from './templates-find.ts';
import { DEFAULT_TAG, tagNames, templateReference } from './templates-name.ts';

const TEMPLATES_MAX = 1000;
/** A build that nobody started is forgotten. */
/** Of one template. */
const WAITING_MAX = 100;
const WAITING_MS = 24 * 3_600_000;
const SWEEP_MS = 3_600_000;
const newId = createIdSource(systemClock, systemRandom);

/** Templates of one server: what their routes share. */
export class Templates {
  readonly files: TemplateFiles;
  readonly builds: TemplateBuilds;
  readonly #context: E2bContext;
  readonly #sweeping: NodeJS.Timeout;

  constructor(context: E2bContext) {
    this.#context = context;
    this.files = new TemplateFiles(join(context.directory, 'uploads'), Date.now);
    this.builds = new TemplateBuilds(context, this.files);
    this.#sweeping = setInterval(() => this.#sweep(), SWEEP_MS);
    this.#sweeping.unref();
    this.#sweep();
  }

  /** Before the store is closed. */
  async close(): Promise<void> {
    clearInterval(this.#sweeping);
    await this.builds.close();
  }

  /** A template by its name, made if it is not there, and a new build of it that waits for its steps. */
  request(request: E2bTemplateRequest, key: Key): { template: TemplateRow; build: BuildRow } {
    const { store } = this.#context;
    const { name, tag } = templateReference(request.name ?? request.alias ?? '');
    if (isBuiltinTemplate(name))
      throw new VivError('forbidden', `template '${name}' comes with the node; pick another name`);
    const given = tagNames([...(tag === null ? [] : [tag]), ...(request.tags ?? [])], name);
    const now = Date.now();
    const template = store.templates.named(name).find(({ owner }) => owner === key.id) ?? this.#insert(name, key, now);
    const waiting = store.builds.ofTemplate(template.id).filter(({ status }) => status === 'waiting').length;
    if (waiting >= WAITING_MAX)
      throw new VivError(
        'quota_exceeded',
        `${waiting} builds of template '${name}' wait to be started, the most there can be`,
      );
    const build: BuildRow = {
      id: randomUUID(),
      template: template.id,
      status: 'waiting',
      cpus: request.cpuCount ?? null,
      memoryMiB: request.memoryMB ?? null,
      diskMiB: (request.minFreeDiskMb ?? 0) > LIMITS.diskMiB.default ? request.minFreeDiskMb! : null,
      tags: given.length > 0 ? given : [DEFAULT_TAG],
      startCmd: '',
      readyCmd: '',
      ports: [],
      reason: null,
      createdAtMs: now,
      updatedAtMs: now,
      finishedAtMs: null,
    };
    store.builds.put(build);
    return { template, build };
  }

  /** With its builds. Sandboxes that run from it run on; its images go with the last of them. */
  async remove({ id }: TemplateRow): Promise<void> {
    const { store } = this.#context;
    await this.builds.cancel(id);
    for (const build of store.builds.ofTemplate(id)) {
      if (build.status === 'ready') store.snapshots.drop(imageOfBuild(build));
      store.builds.remove(build.id);
    }
    store.templates.remove(id);
    await dropImages(this.#context);
  }

  #insert(name: string, key: Key, now: number): TemplateRow {
    const { templates } = this.#context.store;
    if (templates.list(key.id, Number.MAX_SAFE_INTEGER, TEMPLATES_MAX).length >= TEMPLATES_MAX)
      throw new VivError('quota_exceeded', `this key has ${TEMPLATES_MAX} templates, the most it can have`);
    const id = newId();
    templates.insert({ id, owner: key.id, name }, now);
    return templates.get(id)!;
  }

  #sweep(): void {
    const { store, log } = this.#context;
    try {
      this.files.sweep();
      for (const { id, createdAtMs } of store.builds.withStatus('waiting'))
        if (createdAtMs < Date.now() - WAITING_MS) store.builds.remove(id);
    } catch (err) {
      log.error({ err }, 'what template builds left behind could not be removed');
    }
  }
}

const services = new WeakMap<E2bContext, Templates>();

/** The templates of the server that this context belongs to. */
export function templatesOf(context: E2bContext): Templates {
  const service = services.get(context) ?? new Templates(context);
  services.set(context, service);
  return service;
}
