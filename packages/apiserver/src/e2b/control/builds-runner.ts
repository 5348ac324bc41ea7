import { BuildRequest, type Key, SandboxCreate, VivError } from '@vivarium/protocol';
import type { E2bBuildStart } from '@vivarium/protocol/e2b/template.ts';
import { ownerOf } from '../../http/identity.ts';
import { ownEdge } from '../../tenancy/own-edge.ts';
import type { E2bContext } from '../context.ts';
import type { BuildRow, LogRow } from '../store/build-table.ts';
import { BuildLog } from './builds-log.ts';
import { buildOrigin } from './builds-origin.ts';
import { buildReason } from './builds-reason.ts';
import { readBuildSettings } from './builds-settings.ts';
import { type BuildProgram, buildProgram } from './builds-steps.ts';
import type { TemplateFiles } from './template-files.ts';
import { builtinImages } from './templates-builtin.ts';
import { imageOfBuild } from './templates-find.ts';
import { listeningPorts } from './templates-ports.ts';
import { limitsOf } from './templates-resolve.ts';
import { startTemplate } from './templates-start.ts';

/** Of one build, all its steps together. */
const BUILD_MS = 3_600_000;
/** The ready command has to end with 0 within this. */
const READY_MS = 600_000;
const TTL_S = 3600;
/** Builds of one key that go on or wait for their turn. */
const RUNNING_MAX = 20;
/** Builds of one template that no tag names and that are kept. */
const UNTAGGED_MAX = 5;

/** Of the sandbox in which a build tries its start command: its id. */
const LABEL = 'viv.template-build';

type Live = { log: BuildLog; abort: AbortController; owner: string; done: Promise<void> };

/** The builds of templates that go on, in the background. */
export class TemplateBuilds {
  readonly #context: E2bContext;
  readonly #files: TemplateFiles;
  readonly #live = new Map<string, Live>();

  constructor(context: E2bContext, files: TemplateFiles) {
    this.#context = context;
    this.#files = files;
    for (const row of context.store.builds.withStatus('building')) {
      this.#finish(row, { message: 'the server was stopped while it was building', step: '' });
      void this.#endLeftovers(row.id).catch((err) => context.log.error({ err }, 'a sandbox of a build was not ended'));
    }
  }

  /** Begins a build that waits. Throws `state_conflict`, `quota_exceeded`. */
  start(row: BuildRow, start: E2bBuildStart, key: Key): void {
    if (row.status !== 'waiting') throw new VivError('state_conflict', `build ${row.id} is ${row.status} already`);
    const running = [...this.#live.values()].filter(({ owner }) => owner === key.id).length;
    if (running >= RUNNING_MAX)
      throw new VivError(
        'quota_exceeded',
        `${running} template builds of this key are under way, the most there can be`,
      );
    const { store, log: serverLog } = this.#context;
    const now = Date.now();
    const building = { ...row, status: 'building' as const, updatedAtMs: now };
    store.builds.put(building);
    const log = new BuildLog(store.builds, row.id, Date.now, serverLog);
    const abort = new AbortController();
    const done = this.#run(building, start, key, log, abort.signal)
      .catch((err) => serverLog.error({ err, build: row.id }, 'the end of a build was not kept'))
      .finally(() => this.#live.delete(row.id));
    this.#live.set(row.id, { log, abort, owner: key.id, done });
  }

  /** All entries so far. */
  log(build: string): readonly LogRow[] {
    return this.#live.get(build)?.log.entries ?? this.#context.store.builds.log(build);
  }

  /** Ends the builds of a template; resolves when they have ended. */
  async cancel(template: string): Promise<void> {
    const builds = this.#context.store.builds.ofTemplate(template);
    await Promise.all(builds.map(({ id }) => this.#abort(id, 'the template was deleted')));
  }

  /** Before the store is closed. */
  async close(): Promise<void> {
    await Promise.all([...this.#live.keys()].map((id) => this.#abort(id, 'the server was stopped')));
  }

  async #abort(build: string, why: string): Promise<void> {
    const live = this.#live.get(build);
    live?.abort.abort(new VivError('build_failed', `the build was canceled: ${why}`));
    await live?.done;
  }

  async #run(row: BuildRow, start: E2bBuildStart, key: Key, log: BuildLog, signal: AbortSignal): Promise<void> {
    const began = performance.now();
    log.put('info', '', `Building template ${row.template}/${row.id}`);
    const steps = start.steps ?? [];
    try {
      const origin = await buildOrigin(this.#context, key, start, (message) => log.put('warn', 'base', message));
      const program = buildProgram(origin, steps, start.force ?? false);
      await this.#build(row, program, key, log, signal, steps.length);
      const commands = { startCmd: start.startCmd ?? '', readyCmd: start.readyCmd ?? '' };
      const inherits = commands.startCmd === '' && commands.readyCmd === '';
      const begun = { ...row, ...(inherits ? origin.start : commands) };
      const made = { ...begun, ports: await this.#finalize(begun, key, log, signal) };
      signal.throwIfAborted();
      log.put('info', '', `Build finished, took ${Math.floor((performance.now() - began) / 1000)}s`);
      log.flush();
      await this.#ready(made);
    } catch (thrown) {
      const reason = buildReason(signal.aborted ? signal.reason : thrown, steps, this.#context.log);
      log.put('error', reason.step, `Build failed: ${reason.message}`);
      log.flush();
      this.#finish(row, reason);
      await this.#dropImage(row);
      await this.#prune(row.template);
    }
  }

  async #build(
    row: BuildRow,
    { steps, files }: BuildProgram,
    key: Key,
    log: BuildLog,
    signal: AbortSignal,
    total: number,
  ): Promise<void> {
    const { edge, directory } = this.#context;
    const { network } = readBuildSettings(directory);
    const held = this.#files.hold(key.id, files);
    const request = BuildRequest.parse({
      name: imageOfBuild(row),
      map: builtinImages(edge),
      // Only who may use the node's network in a build anyway.
      network: key.scopes.includes('admin') ? network : 'none',
      timeoutMs: BUILD_MS,
    });
    const prefixOf = (number: number) => (number === 0 ? '[base]' : `[builder ${number}/${total}]`);
    let at = { number: 0, step: 'base', prefix: '[base]' };
    let shown = -1;
    try {
      const lines = edge.builds.buildSteps(request, steps, held.files, ownerOf(key), signal);
      for await (const line of lines) {
        if (line.type === 'warning') log.put('warn', at.step, line.message);
        if (line.type === 'output') log.output(at.step, at.prefix, line.stream, line.text);
        if (line.type !== 'step') continue;
        log.endOutput(at.step, at.prefix);
        at = { number: line.line, step: line.line === 0 ? 'base' : `${line.line}`, prefix: prefixOf(line.line) };
        if (at.number > shown) log.put('info', at.step, `${at.prefix} ${line.instruction}`);
        shown = at.number;
      }
    } finally {
      held.release();
    }
  }

  /** Runs the start and ready commands once, as every sandbox of the template will. Resolves to the ports that are listened on then. */
  async #finalize(row: BuildRow, key: Key, log: BuildLog, signal: AbortSignal): Promise<number[]> {
    if (row.startCmd === '' && row.readyCmd === '') return [];
    const edge = ownEdge(this.#context.edge, key);
    const limits = limitsOf(row);
    const labels = { [LABEL]: row.id };
    const create = SandboxCreate.parse({ image: imageOfBuild(row), labels, ttlS: TTL_S, ...(limits && { limits }) });
    const { id } = await edge.sandboxes.create(create, { keyId: key.id, maxSandboxes: null });
    try {
      await startTemplate(edge, id, row, {
        signal,
        timeoutMs: READY_MS,
        log: (level, message) => log.put(level, 'finalize', message),
      });
      return await listeningPorts(edge, id);
    } catch (thrown) {
      const { code, message } = VivError.from(thrown);
      throw new VivError(code, message, { details: { step: 'finalize' }, cause: thrown });
    } finally {
      await edge.sandboxes.kill(id);
    }
  }

  async #ready(row: BuildRow): Promise<void> {
    const { store } = this.#context;
    const now = Date.now();
    store.builds.put({ ...row, status: 'ready', reason: null, updatedAtMs: now, finishedAtMs: now });
    store.templates.tag(row.template, row.tags, row.id, now);
    await this.#prune(row.template);
  }

  #finish(row: BuildRow, reason: BuildRow['reason']): void {
    const now = Date.now();
    this.#context.store.builds.put({ ...row, status: 'error', reason, updatedAtMs: now, finishedAtMs: now });
  }

  /** A server that died has left the sandbox of its build behind. */
  async #endLeftovers(build: string): Promise<void> {
    const { sandboxes } = this.#context.edge;
    for (const { id } of sandboxes.list({ labels: { [LABEL]: build } }, { limit: 10 }).items) await sandboxes.kill(id);
  }

  /** Old builds without a tag go; their images when no sandbox uses them. */
  async #prune(template: string): Promise<void> {
    const { store } = this.#context;
    const tagged = new Set(store.templates.tags(template).map(({ build }) => build));
    const over = store.builds.ofTemplate(template).filter(({ status }) => status === 'ready' || status === 'error');
    for (const row of over.filter(({ id }) => !tagged.has(id)).slice(UNTAGGED_MAX)) {
      store.builds.remove(row.id);
      await this.#dropImage(row);
    }
  }

  async #dropImage(row: BuildRow): Promise<void> {
    const { store } = this.#context;
    store.snapshots.drop(imageOfBuild(row));
  }
}
