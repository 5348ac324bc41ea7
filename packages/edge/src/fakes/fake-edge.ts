import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { FakeClock, seededRandom } from '@vivarium/core';
import { ExecStart, type ExecStartInput, SandboxCreate, type SandboxCreateInput } from '@vivarium/protocol';
import pino from 'pino';
import type { StreamOptions } from '../edge.ts';
import type { EdgeLimits } from '../lifecycle/context.ts';
import { type OpenEdge, openEdge } from '../open-edge.ts';
import { DirectoryDisk } from './directory-disk.ts';
import { FakeDriver } from './fake-driver.ts';
import { FakeImages } from './fake-images.ts';

/** A real edge over fake cells and a clock that the test moves. `restart` does what a kill -9 and a new start do. */
export class FakeEdge {
  stateDir: string;
  readonly driver = new FakeDriver();
  readonly fnDriver = new FakeDriver('fn');
  readonly images = new FakeImages();
  readonly clock = new FakeClock();
  readonly volumes: DirectoryDisk;
  readonly #limits: Partial<EdgeLimits>;
  #seed = 1;
  edge!: OpenEdge;

  private constructor(limits: Partial<EdgeLimits>, stateDir: string) {
    this.stateDir = stateDir;
    this.volumes = new DirectoryDisk(join(stateDir, 'volumes'));
    this.#limits = { minFreeDiskBytes: 0, minFreeMemoryBytes: 0, ...limits };
  }

  static async open(limits: Partial<EdgeLimits> = {}, stateDir?: string): Promise<FakeEdge> {
    const fake = new FakeEdge(limits, stateDir ?? mkdtempSync(join(tmpdir(), 'viv-edge-')));
    await fake.#open();
    return fake;
  }

  async restart(): Promise<void> {
    await this.edge.close();
    await this.open();
  }

  /** As if the process were gone in the midst of whatever it does; time must not be moved afterwards, the former edge would see it. */
  async abandon(): Promise<void> {
    const before = this.stateDir;
    this.stateDir = mkdtempSync(join(tmpdir(), 'viv-edge-'));
    cpSync(before, this.stateDir, { recursive: true });
    rmSync(before, { recursive: true, force: true });
    await this.#open();
  }

  /** After `edge.close()`. */
  async open(): Promise<void> {
    await this.#open();
  }

  async close(): Promise<void> {
    await this.edge.close();
    rmSync(this.stateDir, { recursive: true, force: true });
  }

  create(
    request: Partial<SandboxCreateInput> = {},
    idempotency?: { key: string; requestHash: string },
    maxSandboxes: number | null = null,
  ) {
    return this.edge.sandboxes.create(
      SandboxCreate.parse({ image: 'base/test@1', ...request }),
      { keyId: 'k', maxSandboxes },
      idempotency,
    );
  }

  run(
    sandbox: string,
    argv: string[],
    options: Partial<ExecStartInput> = {},
    idempotency?: { key: string; requestHash: string },
  ) {
    return this.edge.execs.run(sandbox, ExecStart.parse({ argv, ...options }), idempotency);
  }

  start(sandbox: string, argv: string[], stream: Partial<StreamOptions> = {}, options: Partial<ExecStartInput> = {}) {
    return this.edge.execs.start(sandbox, ExecStart.parse({ argv, ...options }), {
      stdin: false,
      onData: () => {},
      onGap: () => {},
      ...stream,
    });
  }

  async #open(): Promise<void> {
    const { stateDir, driver, images, clock } = this;
    this.edge = await openEdge({
      stateDir,
      drivers: [driver, this.fnDriver],
      images,
      volumeDisk: this.volumes,
      clock,
      random: seededRandom(this.#seed++),
      log: pino({ level: process.env.VIV_TEST_LOG ?? 'silent' }),
      limits: this.#limits,
      openCell: driver.openCell,
    });
  }
}
