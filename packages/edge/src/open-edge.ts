import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { type Clock, createIdSource, Deadlines, type Random, systemClock, systemRandom } from '@vivarium/core';
import type { ImageStore } from '@vivarium/layers/store.ts';
import type { Logger } from 'pino';
import type { Registry as PromRegistry } from 'prom-client';
import { Builds } from './builds/service.ts';
import { Cell } from './cell/cell.ts';
import type { Driver } from './drivers/driver.ts';
import type { Edge } from './edge.ts';
import { EndedExecs } from './exec/ended-execs.ts';
import { Execs } from './exec/service.ts';
import { Files } from './files/service.ts';
import { withoutCalls } from './fn/guard.ts';
import type { FnLimits } from './fn/limits.ts';
import { FnCalls } from './fn/service.ts';
import { Images } from './images/service.ts';
import { DescriptorCache } from './journal/descriptor-cache.ts';
import { Leases } from './leases/service.ts';
import { adoptAll } from './lifecycle/adopt.ts';
import type { EdgeContext, EdgeLimits } from './lifecycle/context.ts';
import { endBox, stopCell } from './lifecycle/end.ts';
import { EventHub } from './lifecycle/event-hub.ts';
import { Gate } from './lifecycle/gate.ts';
import { pruneEnded } from './lifecycle/retention.ts';
import { RoomGauge } from './lifecycle/room.ts';
import { Sandboxes } from './lifecycle/service.ts';
import { EdgeMetrics } from './metrics/edge-metrics.ts';
import { Info } from './metrics/info.ts';
import { Sampler } from './metrics/sampler.ts';
import { Reaches } from './ports/reach.ts';
import { Ports } from './ports/service.ts';
import { Registry } from './registry/registry.ts';
import { noVolumes } from './volumes/no-disk.ts';
import { Volumes } from './volumes/service.ts';
import type { VolumeDisk } from './volumes/volume-disk.ts';

const MIB = 1_048_576;

export const EDGE_LIMITS: EdgeLimits = {
  createConcurrency: 10,
  createQueue: 2048,
  /** As many as a container driver has id ranges for. */
  sandboxes: 16_383,
  execsPerSandbox: 512,
  minFreeDiskBytes: 1024 * MIB,
  minFreeMemoryBytes: 256 * MIB,
  keepEndedMs: 7 * 86_400_000,
  keepEnded: 10_000,
  journalBytes: 256 * MIB,
  outputBytes: 1024 * MIB,
};

export type EdgeOptions = {
  stateDir: string;
  drivers: Driver[];
  images: ImageStore;
  /** Where volumes lie. Default: nowhere, so there are none. */
  volumeDisk?: VolumeDisk;
  log: Logger;
  clock?: Clock;
  random?: Random;
  /** Where the metrics are registered. */
  metrics?: PromRegistry;
  limits?: Partial<EdgeLimits>;
  fnLimits?: Partial<FnLimits>;
  version?: string;
  /** Tests put a fake guest here. */
  openCell?: EdgeContext['openCell'];
};

export type OpenEdge = Edge & {
  /** Takes no new sandboxes, commands or imports from now on; what runs goes on. */
  drain(): void;
  /** Ends every sandbox (`node_down`). */
  endAll(): Promise<void>;
  /** Is a layer used by a live sandbox? */
  usesLayer(digest: string): boolean;
  /** What the start found of a former run. */
  readonly adopted: { adopted: number; lost: number };
  /** Lets go without ending anything: the next open adopts. */
  close(): Promise<void>;
};

/** Opens the edge of one node: adopts what lives, then serves. */
export async function openEdge(options: EdgeOptions): Promise<OpenEdge> {
  const context = makeContext(options);
  const volumes = new Volumes(context);
  await volumes.open();
  const reaches = new Reaches();
  const sampler = new Sampler(context);
  context.onRunning = async (box) => {
    await reaches.arm(box);
    sampler.add(box);
  };
  const adopted = await adoptAll(context);
  const leases = new Leases(context);
  const builds = new Builds(context);
  const execs = new Execs(context);
  const fn = new FnCalls(context, execs, options.fnLimits);
  await leases.endOrphans();
  pruneEnded(context, true);
  return {
    sandboxes: withoutCalls(context, new Sandboxes(context), SANDBOX_LOOKS),
    execs: withoutCalls(context, execs, EXEC_LOOKS),
    files: withoutCalls(context, new Files(context), []),
    ports: withoutCalls(context, new Ports(context), []),
    fn,
    leases,
    images: new Images(context, builds),
    builds,
    volumes,
    info: new Info(context, options.version ?? '0.1.0'),
    adopted,
    drain: () => {
      context.draining = true;
    },
    endAll: () => {
      fn.close();
      return endAll(context);
    },
    usesLayer: (digest) => [...context.boxes.values()].some(({ row }) => row.layers.includes(digest)),
    close: () => {
      fn.close();
      return close(context, reaches);
    },
  };
}

/** What anybody may do with a container for calls: look at it, or end it. */
const SANDBOX_LOOKS = [
  'get',
  'list',
  'kill',
  'wait',
  'stats',
  'statsHistory',
  'processes',
  'logs',
  'followLogs',
  'events',
  'owner',
  'token',
  'touch',
] as const;
const EXEC_LOOKS = ['get', 'result', 'list', 'running', 'cancel'] as const;

function makeContext(options: EdgeOptions): EdgeContext {
  const { stateDir, drivers, images, log, clock = systemClock, random = systemRandom, openCell = Cell.open } = options;
  const limits = { ...EDGE_LIMITS, ...options.limits };
  mkdirSync(join(stateDir, 'sandboxes'), { recursive: true, mode: 0o700 });
  return {
    stateDir,
    clock,
    random,
    newId: createIdSource(clock, random),
    log,
    limits,
    registry: new Registry(join(stateDir, 'edge.db'), clock),
    files: new DescriptorCache(),
    deadlines: new Deadlines(clock),
    drivers: new Map(drivers.map((driver) => [driver.kind, driver])),
    images,
    volumeDisk: options.volumeDisk ?? noVolumes('this edge has no place for volumes'),
    metrics: new EdgeMetrics(options.metrics),
    hub: new EventHub(),
    endedExecs: new EndedExecs(),
    room: new RoomGauge(clock, stateDir),
    createGate: new Gate('creates', limits.createConcurrency, limits.createQueue),
    boxes: new Map(),
    openCell,
    onRunning: async () => {},
    reclaim: () => 0,
    releaseImage: async () => {},
    draining: false,
    closed: false,
  };
}

const END_AT_ONCE = 16;

async function endAll(context: EdgeContext): Promise<void> {
  context.draining = true;
  const queue = [...context.boxes.values()];
  const worker = async () => {
    for (let box = queue.shift(); box; box = queue.shift()) {
      await endBox(box, 'node_down').catch((err) => context.log.error({ err }, 'a sandbox could not be ended'));
    }
  };
  await Promise.all(Array.from({ length: END_AT_ONCE }, worker));
}

/** Creates under way are waited for; then every connection is dropped, and the guests keep what they have. */
async function close(context: EdgeContext, reaches: Reaches): Promise<void> {
  context.draining = true;
  await Promise.all(
    [...context.boxes.values()]
      .map((box) => box.creating ?? box.ending ?? box.waking)
      .filter((busy) => busy !== null)
      .map((busy) => busy.catch(() => {})),
  );
  context.closed = true;
  context.deadlines.close();
  for (const box of context.boxes.values()) {
    stopCell(box);
    box.journal.close();
  }
  reaches.close();
  context.files.close();
  context.registry.close();
}
