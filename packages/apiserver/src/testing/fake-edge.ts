import { connect } from 'node:net';
import type { Duplex } from 'node:stream';
import type { BuildService, Edge, InfoService, LeaseService, Owner, PortService } from '@vivarium/edge/edge.ts';
import { type Lease, type LeaseCreate, type Pressure, VivError } from '@vivarium/protocol';
import { FakeExecs } from './fake-execs.ts';
import { FakeFiles } from './fake-files.ts';
import { FakeFn } from './fake-fn.ts';
import { FakeImages } from './fake-images.ts';
import { AT, FakeSandboxes, fakeId } from './fake-sandboxes.ts';
import { FakeVolumes } from './fake-volumes.ts';

const CALM: Pressure = {
  cpus: 2,
  loadAvg: [0, 0, 0],
  cpuTotalMs: 1,
  cpuBusyMs: 0,
  cpuStealMs: 0,
  cpuBusyPct: 0,
  stealPct: 0,
  memAvailableBytes: 1,
  memTotalBytes: 1,
  psi: null,
};

/** A node without a node: enough behaviour to prove what the API server does with one. Tests only. */
export class FakeEdge implements Edge {
  readonly sandboxes = new FakeSandboxes();
  readonly execs = new FakeExecs(this.sandboxes);
  readonly files = new FakeFiles();
  readonly ports = new FakePorts(this.sandboxes);
  readonly leases = new FakeLeases();
  readonly images = new FakeImages();
  readonly volumes = new FakeVolumes();
  readonly fn = new FakeFn();
  readonly builds: BuildService = {
    build() {
      throw new VivError('unsupported', 'no builds here');
    },
    buildSteps() {
      throw new VivError('unsupported', 'no builds here');
    },
    prune: async () => ({ removed: [], bytes: 0 }),
  };
  readonly info: InfoService = {
    node: async () => ({
      id: 'n1',
      version: '0.1.0',
      uptimeS: 1,
      sandboxes: { live: 1, running: 1, paused: 0, createdTotal: 1 },
      execs: { running: 0, total: 0 },
      memory: { totalBytes: 2, availableBytes: 1, serverRssBytes: 1 },
      disk: { totalBytes: 2, freeBytes: 1 },
      pressure: CALM,
      capabilities: [],
    }),
    capabilities: async () => [],
    metrics: async () => '# edge metrics\n',
  };
}

/** Ports of a sandbox are ports of this machine: `redirect` maps one to the other. */
export class FakePorts implements PortService {
  readonly redirect = new Map<number, number>();
  readonly #sandboxes: FakeSandboxes;
  /** Connections that the next listener hands out. */
  incoming: Duplex[] = [];

  constructor(sandboxes: FakeSandboxes) {
    this.#sandboxes = sandboxes;
  }

  connect(sandbox: string, target: { port: number } | { unixPath: string }): Promise<Duplex> {
    this.#sandboxes.alive(sandbox);
    const port = 'port' in target ? this.redirect.get(target.port) : undefined;
    if (port === undefined)
      return Promise.reject(new VivError('port_closed', `nothing listens on ${JSON.stringify(target)}`));
    return new Promise((resolve, reject) => {
      const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true }, () => resolve(socket));
      socket.once('error', () => reject(new VivError('port_closed', 'refused')));
    });
  }

  async listen(_sandbox: string, target: { port: number } | { unixPath: string }, signal: AbortSignal) {
    const { incoming } = this;
    const connections = (async function* () {
      yield* incoming;
      await new Promise((resolve) => signal.addEventListener('abort', resolve));
    })();
    return { port: 'port' in target ? target.port || 4321 : 0, connections };
  }
}

export class FakeLeases implements LeaseService {
  readonly rows = new Map<string, Lease>();
  readonly owners = new Map<string, string>();
  holders = 0;

  create(request: LeaseCreate, owner: Owner): Lease {
    const lease: Lease = {
      id: fakeId(),
      label: request.label ?? null,
      graceS: request.graceS,
      onExpire: request.onExpire,
      state: 'grace',
      createdAt: AT,
      expiresAt: AT,
      sandboxes: 0,
    };
    this.rows.set(lease.id, lease);
    this.owners.set(lease.id, owner.keyId);
    return lease;
  }

  get(id: string): Lease {
    const lease = this.rows.get(id);
    if (!lease) throw new VivError('lease_not_found', `no lease ${id}`);
    return lease;
  }

  owner(id: string): string {
    this.get(id);
    return this.owners.get(id)!;
  }

  #of(owner: string | undefined): Lease[] {
    return [...this.rows.values()].filter(({ id }) => owner === undefined || this.owners.get(id) === owner);
  }

  find = (label: string, owner?: string) => this.#of(owner).find((lease) => lease.label === label);
  list = (_page: unknown, owner?: string) => ({ items: this.#of(owner), nextCursor: null });
  renew = (id: string) => this.get(id);

  hold(id: string) {
    const lease = this.get(id);
    this.holders++;
    return { lease, release: () => void this.holders-- };
  }

  async end(id: string): Promise<void> {
    this.get(id);
    this.rows.delete(id);
  }
}
