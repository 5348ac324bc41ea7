import { statfsSync } from 'node:fs';
import type { Capability, NodeInfo } from '@vivarium/protocol';
import type { InfoService } from '../edge.ts';
import type { EdgeContext } from '../lifecycle/context.ts';
import { memoryBytes } from '../lifecycle/room.ts';
import { PressureGauge } from './pressure.ts';

/** The node about itself. */
export class Info implements InfoService {
  readonly #context: EdgeContext;
  readonly #version: string;
  readonly #nodeId: string;
  readonly #startedMs: number;
  readonly #pressure: PressureGauge;
  #capabilities: Promise<Capability[]> | null = null;

  constructor(context: EdgeContext, version: string) {
    this.#context = context;
    this.#version = version;
    this.#nodeId = context.registry.once('node_id', context.newId);
    this.#startedMs = context.clock.monotonicMs();
    this.#pressure = new PressureGauge(() => context.clock.monotonicMs());
  }

  async node(): Promise<NodeInfo> {
    const { boxes, clock, registry, metrics, stateDir } = this.#context;
    const { blocks, bavail, bsize } = statfsSync(stateDir);
    return {
      id: this.#nodeId,
      version: this.#version,
      uptimeS: Math.floor((clock.monotonicMs() - this.#startedMs) / 1000),
      sandboxes: {
        live: boxes.size,
        running: this.#count('running'),
        paused: this.#count('paused'),
        createdTotal: registry.sandboxes.createdTotal(),
      },
      execs: { running: this.#running(), total: metrics.execsTotal },
      memory: {
        totalBytes: memoryBytes('MemTotal'),
        availableBytes: memoryBytes('MemAvailable'),
        serverRssBytes: process.memoryUsage.rss(),
      },
      pressure: this.#pressure.read(),
      disk: { totalBytes: blocks * bsize, freeBytes: bavail * bsize },
      capabilities: await this.capabilities(),
    };
  }

  /** Asked once: what a machine can do does not change while it runs. */
  capabilities(): Promise<Capability[]> {
    this.#capabilities ??= Promise.all([...this.#context.drivers.values()].map((driver) => driver.capabilities())).then(
      (all) => all.flat(),
    );
    return this.#capabilities;
  }

  metrics(): Promise<string> {
    const { metrics, boxes } = this.#context;
    metrics.sandboxes.reset();
    for (const { row } of boxes.values()) metrics.sandboxes.inc({ state: row.state });
    metrics.execsRunning.set(this.#running());
    return metrics.registry.metrics();
  }

  #count(state: string): number {
    let count = 0;
    for (const { row } of this.#context.boxes.values()) if (row.state === state) count += 1;
    return count;
  }

  #running(): number {
    let count = 0;
    for (const { execs } of this.#context.boxes.values()) count += execs.size;
    return count;
  }
}
