import type { CreateOptions, Lease, RequestControl, Sandbox, Vivarium } from '@vivarium/sdk';
import { VivError } from '@vivarium/sdk';

/** How long a job's sandboxes outlive a client that died; `resume` ends them at once. */
const GRACE_S = 60;

/**
 * What all sandboxes of a running job belong to, so that a client that dies leaves none. One that is lost (a break longer
 * than its grace) is replaced: the trials it held end as infrastructure failures and are tried again.
 */
export class JobLease implements AsyncDisposable {
  readonly #viv: Vivarium;
  readonly #label: string;
  #lease: Lease;
  #renewing: Promise<void> | undefined;

  private constructor(viv: Vivarium, label: string, lease: Lease) {
    this.#viv = viv;
    this.#label = label;
    this.#lease = lease;
    this.#watch();
  }

  static async take(viv: Vivarium, jobId: string): Promise<JobLease> {
    const label = leaseLabel(jobId);
    return new JobLease(viv, label, await viv.lease(label, { graceS: GRACE_S }));
  }

  get id(): string {
    return this.#lease.id;
  }

  async create(options: Omit<CreateOptions, 'lease'>, control?: RequestControl): Promise<Sandbox> {
    await this.#renewing;
    try {
      return await this.#lease.create(options, control);
    } catch (error) {
      if (VivError.from(error).code !== 'lease_not_found') throw error;
      await this.#renew();
      return this.#lease.create(options, control);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    // Should the node be away, the grace time ends it.
    await this.#lease.end().catch(() => {});
  }

  #renew(): Promise<void> {
    this.#renewing ??= this.#viv
      .lease(this.#label, { graceS: GRACE_S })
      .then((lease) => {
        this.#lease = lease;
        this.#watch();
      })
      .finally(() => {
        this.#renewing = undefined;
      });
    return this.#renewing;
  }

  #watch(): void {
    // Looked at when the next create fails.
    this.#lease.lost.catch(() => {});
  }
}

/** Ends what an earlier runner of this job left: its leases first, so that creates under way fail, then its sandboxes. */
export async function endEarlierRun(viv: Vivarium, jobId: string): Promise<number> {
  for await (const lease of viv.leases.list())
    if (lease.label === leaseLabel(jobId) && lease.state !== 'expired') await ending(viv.leases.end(lease.id));
  return endSandboxes(viv, { 'viv.job': jobId });
}

/** Ends the live sandboxes with these labels. */
export async function endSandboxes(viv: Vivarium, labels: Record<string, string>): Promise<number> {
  let count = 0;
  for await (const sandbox of viv.sandboxes.list({
    labels,
    states: ['creating', 'running', 'pausing', 'paused', 'resuming'],
  })) {
    await ending(sandbox.kill());
    count++;
  }
  return count;
}

async function ending(act: Promise<unknown>): Promise<void> {
  await act.catch((error: unknown) => {
    if (!['lease_not_found', 'sandbox_not_found', 'sandbox_dead'].includes(VivError.from(error).code)) throw error;
  });
}

function leaseLabel(jobId: string): string {
  return `eval/${jobId}`;
}
