import type { Clock, Deadlines, Random } from '@vivarium/core';
import type { ImageStore } from '@vivarium/layers/store.ts';
import type { Kind } from '@vivarium/protocol';
import type { Logger } from 'pino';
import type { Cell, CellOptions } from '../cell/cell.ts';
import type { Driver } from '../drivers/driver.ts';
import type { EndedExecs } from '../exec/ended-execs.ts';
import type { DescriptorCache } from '../journal/descriptor-cache.ts';
import type { EdgeMetrics } from '../metrics/edge-metrics.ts';
import type { Registry } from '../registry/registry.ts';
import type { VolumeDisk } from '../volumes/volume-disk.ts';
import type { Box } from './box.ts';
import type { EventHub } from './event-hub.ts';
import type { Gate } from './gate.ts';
import type { RoomGauge } from './room.ts';

/** Bounds of one edge; each has a default in open.ts. */
export type EdgeLimits = {
  /** Creates that run at once, and that may wait behind them. */
  createConcurrency: number;
  createQueue: number;
  /** Live sandboxes on this node. */
  sandboxes: number;
  /** Commands that run at once in one sandbox. */
  execsPerSandbox: number;
  /** Creates are refused below this much free space in the state directory, and below this much available memory. */
  minFreeDiskBytes: number;
  minFreeMemoryBytes: number;
  /** Ended sandboxes stay readable until they are this old, or this many. */
  keepEndedMs: number;
  keepEnded: number;
  /** One sandbox's journal. */
  journalBytes: number;
  /** Kept output of one sandbox's commands, all together; beyond, output is counted and hashed but not kept. */
  outputBytes: number;
};

/** What the parts of one edge share. */
export type EdgeContext = {
  readonly stateDir: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly newId: () => string;
  readonly log: Logger;
  readonly limits: EdgeLimits;
  readonly registry: Registry;
  readonly files: DescriptorCache;
  readonly deadlines: Deadlines;
  readonly drivers: ReadonlyMap<Kind, Driver>;
  readonly images: ImageStore;
  readonly volumeDisk: VolumeDisk;
  readonly metrics: EdgeMetrics;
  readonly hub: EventHub;
  readonly endedExecs: EndedExecs;
  readonly createGate: Gate;
  readonly room: RoomGauge;
  /** Every sandbox that holds resources of this node. */
  readonly boxes: Map<string, Box>;
  /** Opens the guest's end; tests put a fake here. */
  readonly openCell: (options: CellOptions) => Promise<Cell>;
  /** What is to happen to a sandbox whose cell runs (again): endpoints it may reach. Set when the services are wired. */
  onRunning: (box: Box) => Promise<void>;
  /** Ends containers that only wait for calls, of one key or of any, to make room. Returns how many. Set when the services are wired. */
  reclaim: (count: number, owner?: string) => number;
  /** Ends those of an image, which is to be removed. Set when the services are wired. */
  releaseImage: (image: string) => Promise<void>;
  /** No new work is taken. */
  draining: boolean;
  /** This edge has let go: what its cells do is no longer its business. */
  closed: boolean;
};
