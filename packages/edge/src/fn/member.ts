import type { Limits, SandboxCreate } from '@vivarium/protocol';
import type { CellSpec } from '../drivers/driver.ts';
import type { Owner } from '../edge.ts';
import type { Box } from '../lifecycle/box.ts';
import { cellSpec } from '../lifecycle/cell-spec.ts';
import type { EdgeContext } from '../lifecycle/context.ts';
import { createBox } from '../lifecycle/create.ts';
import { endBox } from '../lifecycle/end.ts';
import { layersAgain } from '../lifecycle/layers.ts';
import { renewBox } from '../lifecycle/renew.ts';
import type { FnLimits } from './limits.ts';

/** Its pool ends it long before. */
const TTL_S = 30 * 86_400;

/** A container of a pool: a sandbox of kind `fn` that gets a new cell after each call. */
export class Member {
  readonly box: Box;
  readonly #spec: CellSpec;
  readonly #limits: FnLimits;
  readonly #outputBytes: number;
  calls = 0;
  /** Monotonic: since when it is ready. */
  idleSinceMs = 0;

  private constructor(box: Box, spec: CellSpec, limits: FnLimits) {
    this.box = box;
    this.#spec = spec;
    this.#limits = limits;
    this.#outputBytes = box.outputBudget.leftBytes;
  }

  static async make(
    context: EdgeContext,
    { image, limits }: { image: string; limits: Limits },
    owner: Owner,
    bounds: FnLimits,
  ): Promise<Member> {
    const box = await createBox(context, request(image, limits), owner);
    try {
      const { root } = await layersAgain(box);
      return new Member(box, cellSpec(context, box.row, root), bounds);
    } catch (error) {
      await endBox(box, 'killed', 'its pool could not take it');
      throw error;
    }
  }

  /** Can it take a call? */
  get alive(): boolean {
    return this.box.row.state === 'running' && this.box.cell !== null;
  }

  /** Has its journal room for more calls? */
  get worn(): boolean {
    const { callsPerContainer, outputBytesPerContainer } = this.#limits;
    if (this.calls >= callsPerContainer) return true;
    if (this.#outputBytes - this.box.outputBudget.leftBytes >= outputBytesPerContainer) return true;
    return this.box.journal.bytes >= this.box.context.limits.journalBytes / 2;
  }

  renew(): Promise<void> {
    return renewBox(this.box, this.#spec);
  }

  end(): Promise<void> {
    return endBox(this.box, 'killed', 'its pool has no use for it');
  }
}

function request(image: string, limits: Limits): SandboxCreate {
  return {
    image,
    kind: 'fn',
    labels: {},
    metadata: {},
    env: {},
    limits,
    ttlS: TTL_S,
    idleTimeoutS: null,
    onTimeout: 'kill',
    pauseMemory: true,
    autoResume: false,
    reach: [],
    overlay: [],
    volumes: [],
  };
}
