import type { Capability } from '@vivarium/protocol';
import type { CellHandle, CellRecord, CellSpec, Driver } from '../driver.ts';
import { fnCapabilities } from './capabilities.ts';

/** Containers for calls: cells of the container driver on the same node, in pools (`fn/`), where each call is followed by `renew`. */
export class FnDriver implements Driver {
  readonly kind = 'fn';
  readonly #containers: Driver;

  constructor(containers: Driver) {
    this.#containers = containers;
  }

  async capabilities(): Promise<Capability[]> {
    return fnCapabilities(await this.#containers.capabilities());
  }

  prepare(spec: CellSpec): Promise<void> {
    return this.#containers.prepare(spec);
  }

  start(spec: CellSpec): Promise<CellHandle> {
    return this.#containers.start({ ...spec, quick: true });
  }

  restart(stopped: CellRecord, spec: CellSpec): Promise<CellHandle> {
    return this.#containers.restart(stopped, { ...spec, quick: true });
  }

  renew(used: CellHandle, spec: CellSpec): Promise<CellHandle> {
    return this.#containers.renew(used, { ...spec, quick: true });
  }

  adopt(record: CellRecord): Promise<CellHandle> {
    return this.#containers.adopt(record);
  }

  adoptStopped(record: CellRecord): Promise<CellHandle> {
    return this.#containers.adoptStopped(record);
  }

  /** The container driver sweeps: all cells of the node are its own. */
  async sweep(): Promise<string[]> {
    return [];
  }
}
