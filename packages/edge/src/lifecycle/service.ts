import { isFinal } from '@vivarium/core';
import {
  type Change,
  type ForkRequest,
  type Image,
  isImageName,
  type JournalRecord,
  type MountRequest,
  type PackReport,
  type PackRequest,
  type PauseRequestInput,
  type ProcessInfo,
  type Sandbox,
  type SandboxCreate,
  type SandboxState,
  type SandboxUpdate,
  type Stats,
  VivError,
} from '@vivarium/protocol';
import type { Idempotency, Owner, PageOf, PageRequest, SandboxFilter, SandboxService } from '../edge.ts';
import { pulledImage } from '../images/pulled-image.ts';
import { journalPath, readPage } from '../journal/journal.ts';
import { readRecords } from '../journal/journal-file.ts';
import { historyOf, measureBox } from '../metrics/sampler.ts';
import type { IdempotencyRow } from '../registry/idempotency-table.ts';
import { type SandboxRow, toSandbox } from '../registry/sandbox-row.ts';
import { Admission } from './admission.ts';
import { type Box, sandboxDir } from './box.ts';
import type { EdgeContext } from './context.ts';
import { createBox, type Origin } from './create.ts';
import { endBox } from './end.ts';
import { requireBox, requireRow } from './find.ts';
import { forkBox, forkKey } from './fork.ts';
import { listSandboxes } from './list.ts';
import { mountImage, unmountImage } from './mounts.ts';
import { packBox, snapshotBox } from './pack.ts';
import { pauseBox } from './pause.ts';
import { sweepBox } from './sweep.ts';
import { armTimeouts } from './timeouts.ts';
import { resumeOnce, wakeBox } from './wake.ts';

/** Sandboxes: made, watched, changed, ended. */
export class Sandboxes implements SandboxService {
  readonly #context: EdgeContext;
  readonly #admission: Admission;
  /** Fork calls under way, by their idempotency key. */
  readonly #forks = new Map<string, Promise<Sandbox[]>>();

  constructor(context: EdgeContext) {
    this.#context = context;
    this.#admission = new Admission(context);
  }

  async create(request: SandboxCreate, owner: Owner, idempotency?: Idempotency): Promise<Sandbox> {
    const repeat = () => {
      const before = idempotency && this.#before(owner, idempotency);
      return before && this.#repeat(before, idempotency);
    };
    const before = repeat();
    if (before) return before;
    let { image } = request;
    if (!isImageName(image)) {
      this.#admission.admit(request, owner);
      image = await pulledImage(this.#context.images, image);
      const meanwhile = repeat();
      if (meanwhile) return meanwhile;
    }
    return toSandbox((await this.#make({ ...request, image }, owner, idempotency)).row, true);
  }

  get(id: string): Sandbox {
    return toSandbox(this.#row(id), true);
  }

  list(filter: SandboxFilter, page: PageRequest): PageOf<Sandbox> {
    return listSandboxes(this.#context, filter, page);
  }

  update(id: string, change: SandboxUpdate): Sandbox {
    const box = this.#box(id);
    const { ttlS } = change;
    const given = Object.fromEntries(Object.entries(change).filter(([, value]) => value !== undefined));
    box.change({ ...given, ...(ttlS !== undefined && { expiresAt: this.#context.clock.now() + ttlS * 1000 }) });
    if (box.row.state === 'running' || box.row.state === 'paused') armTimeouts(box);
    return toSandbox(box.row);
  }

  async kill(id: string): Promise<Sandbox> {
    const box = this.#context.boxes.get(id);
    if (!box) return toSandbox(this.#row(id));
    await endBox(box, 'killed');
    return toSandbox(box.row);
  }

  async pause(id: string, options: PauseRequestInput = {}): Promise<Sandbox> {
    const box = this.#box(id);
    await pauseBox(box, options);
    armTimeouts(box);
    return toSandbox(box.row);
  }

  async resume(id: string): Promise<Sandbox> {
    const box = this.#box(id);
    await resumeOnce(box);
    return toSandbox(box.row);
  }

  async wake(id: string): Promise<Sandbox> {
    const box = this.#box(id);
    await wakeBox(box);
    return toSandbox(box.row);
  }

  async mount(id: string, request: MountRequest): Promise<void> {
    await mountImage(this.#box(id), request);
  }

  async unmount(id: string, at: string): Promise<void> {
    await unmountImage(this.#box(id), at);
  }

  async sweep(id: string, keepLabels: readonly string[]): Promise<{ ended: number }> {
    return { ended: await sweepBox(this.#box(id), keepLabels) };
  }

  async wait(id: string, states: SandboxState[], waitMs: number): Promise<Sandbox> {
    const now = this.#row(id);
    if (states.includes(now.state) || isFinal(now.state) || waitMs <= 0) return toSandbox(now);
    return new Promise((resolve) => {
      const finish = () => {
        off();
        cancel();
        resolve(toSandbox(this.#row(id)));
      };
      const off = this.#context.hub.on(id, ({ state }) => {
        if (states.includes(state) || isFinal(state)) finish();
      });
      const cancel = this.#context.clock.after(waitMs, finish);
    });
  }

  async stats(id: string): Promise<Stats> {
    return measureBox(this.#box(id));
  }

  async statsHistory(id: string, fromMs: number, toMs: number): Promise<Stats[]> {
    return historyOf(this.#box(id), fromMs, toMs);
  }

  async processes(id: string): Promise<ProcessInfo[]> {
    return this.#box(id).requireCell().processes();
  }

  async *changes(id: string): AsyncGenerator<Change> {
    const box = this.#box(id);
    if (box.row.state !== 'paused') box.requireCell();
    yield* box.handle!.changes();
  }

  async fork(id: string, asked: ForkRequest, owner: Owner, idempotency?: Idempotency): Promise<Sandbox[]> {
    const { count } = asked;
    const make = (request: SandboxCreate, origin: Origin, one: Idempotency | undefined) =>
      this.#make(request, owner, one, origin);
    const fork = async () => {
      this.#admission.check(owner, count);
      const boxes = await forkBox(this.#box(id), { request: asked, idempotency }, make);
      return boxes.map(({ row }) => toSandbox(row, true));
    };
    if (!idempotency) return fork();
    const flight = `${owner.keyId} ${idempotency.key} ${idempotency.requestHash}`;
    const running = this.#forks.get(flight);
    if (running) return running;
    const promise = this.#forksBefore(owner, count, idempotency).then((before) => before ?? fork());
    this.#forks.set(flight, promise);
    return promise.finally(() => this.#forks.delete(flight));
  }

  /** What a fork call with the same key made, if it made all of them. One that was cut short (a crash) is undone. */
  async #forksBefore(owner: Owner, count: number, idempotency: Idempotency): Promise<Sandbox[] | undefined> {
    const keys = this.#context.registry.idempotency;
    const befores = Array.from({ length: count }, (_, i) => keys.get(owner.keyId, forkKey(idempotency, i).key));
    const made = befores.filter((before) => before !== undefined);
    if (made.length === count) return Promise.all(made.map((before) => this.#repeat(before, idempotency)));
    for (const { sandbox } of made) {
      await this.kill(sandbox);
      keys.forget(sandbox);
    }
    return undefined;
  }

  async snapshot(id: string, image: string, labels?: Record<string, string>): Promise<Image> {
    return snapshotBox(this.#box(id), image, labels);
  }

  async pack(id: string, request: PackRequest, owner: Owner, idempotency?: Idempotency): Promise<PackReport> {
    return packBox(this.#box(id), request, owner, idempotency);
  }

  async logs(id: string, after: number, limit: number): Promise<JournalRecord[]> {
    const { stateDir } = this.#context;
    return readPage(journalPath(sandboxDir(stateDir, this.#row(id).id)), after, limit);
  }

  async *followLogs(id: string, after: number, signal: AbortSignal): AsyncGenerator<JournalRecord> {
    const box = this.#context.boxes.get(id);
    if (box) yield* box.journal.follow(after, signal);
    else
      for await (const record of readRecords(
        journalPath(sandboxDir(this.#context.stateDir, this.#row(id).id)),
        after,
      )) {
        if (signal.aborted) return;
        yield record;
      }
  }

  events(filter: { id?: string; label?: string; owner?: string }, signal: AbortSignal): AsyncIterable<Sandbox> {
    if (filter.id !== undefined) this.#row(filter.id);
    const wanted = (sandbox: Sandbox, owner: string) =>
      hasLabel(sandbox, filter.label) && (filter.owner === undefined || owner === filter.owner);
    return this.#context.hub.stream(filter.id, wanted, signal);
  }

  owner(id: string): string {
    return this.#row(id).keyId;
  }

  token(id: string): string {
    return this.#row(id).token;
  }

  touch(id: string): void {
    this.#context.boxes.get(id)?.touch();
  }

  async #make(request: SandboxCreate, owner: Owner, idempotency?: Idempotency, origin?: Origin): Promise<Box> {
    this.#admission.admit(request, owner);
    return createBox(this.#context, request, owner, idempotency, origin);
  }

  /** What the key made before. One that failed, and whose key the disk did not let go then, is as if it had not been. */
  #before(owner: Owner, { key }: Idempotency): IdempotencyRow | undefined {
    const { registry, boxes } = this.#context;
    const before = registry.idempotency.get(owner.keyId, key);
    if (!before || boxes.has(before.sandbox) || registry.sandboxes.get(before.sandbox)?.state !== 'failed')
      return before;
    registry.write(() => registry.idempotency.forget(before.sandbox));
    return undefined;
  }

  /** The answer to a create that came before with the same key; waits for it when it is still under way. */
  async #repeat(before: IdempotencyRow, { key, requestHash }: Idempotency): Promise<Sandbox> {
    if (before.requestHash !== requestHash) {
      throw new VivError('idempotency_mismatch', `key "${key}" was used for another create`, {
        details: { sandbox: before.sandbox },
      });
    }
    await this.#context.boxes.get(before.sandbox)?.creating;
    const row = this.#row(before.sandbox);
    if (row.state === 'failed') throw new VivError(row.errorCode ?? 'internal', row.error ?? 'the create failed');
    return toSandbox(row, true);
  }

  #row(id: string): SandboxRow {
    return requireRow(this.#context, id);
  }

  #box(id: string): Box {
    return requireBox(this.#context, id);
  }
}

/** `key=value`, or a key that is there. */
function hasLabel(sandbox: Sandbox, label: string | undefined): boolean {
  if (label === undefined) return true;
  const cut = label.indexOf('=');
  return cut < 0 ? label in sandbox.labels : sandbox.labels[label.slice(0, cut)] === label.slice(cut + 1);
}
