import { type SandboxCreate, VivError } from '@vivarium/protocol';
import type { Owner } from '../edge.ts';
import type { EdgeContext } from './context.ts';
import { checkBoot } from './room.ts';

/** Decides whether this node takes one more sandbox (or `count`), before anything is made. */
export class Admission {
  readonly #context: EdgeContext;

  constructor(context: EdgeContext) {
    this.#context = context;
  }

  /** Throws `shutting_down`, `quota_exceeded`, `node_full`, `node_disk_full` or `too_many_requests`. */
  check(owner: Owner, count = 1): void {
    const { limits, boxes } = this.#context;
    if (this.#context.draining) throw new VivError('shutting_down', 'the node is stopping and takes no new sandboxes');
    this.#checkQuota(owner, count);
    const over = boxes.size + count - limits.sandboxes;
    if (over > 0 && this.#context.reclaim(over) < over) {
      throw new VivError('node_full', `the node holds ${boxes.size} sandboxes, its maximum is ${limits.sandboxes}`, {
        details: { maximum: limits.sandboxes },
      });
    }
    checkBoot(this.#context);
  }

  /** Of a create: also throws `unsupported` (its kind) and `lease_not_found`. */
  admit(request: SandboxCreate, owner: Owner): void {
    const { drivers, registry } = this.#context;
    if (request.kind === 'fn')
      throw new VivError('unsupported', 'sandboxes of kind fn are made by calls', {
        hint: 'Make a call with POST /v1/fn, or use kind container.',
        details: { kind: 'fn' },
      });
    if (!drivers.has(request.kind)) {
      throw new VivError(
        'unsupported',
        `this node has no ${request.kind} sandboxes, only: ${[...drivers.keys()].filter((kind) => kind !== 'fn').join(', ')}`,
        { details: { kind: request.kind } },
      );
    }
    if (request.lease !== undefined && !registry.leases.has(request.lease)) {
      throw new VivError('lease_not_found', `there is no lease ${request.lease}`, { details: { id: request.lease } });
    }
    this.check(owner);
  }

  #checkQuota(owner: Owner, count: number): void {
    if (owner.maxSandboxes === null) return;
    let live = 0;
    for (const box of this.#context.boxes.values()) if (box.row.keyId === owner.keyId && !box.row.builder) live += 1;
    const over = live + count - owner.maxSandboxes;
    if (over <= 0 || this.#context.reclaim(over, owner.keyId) >= over) return;
    throw new VivError('quota_exceeded', `this key has ${live} live sandboxes, its maximum is ${owner.maxSandboxes}`, {
      details: { live, maximum: owner.maxSandboxes },
    });
  }
}
