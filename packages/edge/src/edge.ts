import type { BuildStep, StepAction } from '@vivarium/builder';
import type {
  Capability,
  Change,
  Exec,
  ExecResult,
  ExecStart,
  ForkRequest,
  Image,
  ImageImport,
  JournalRecord,
  Kind,
  Lease,
  LeaseCreate,
  MountRequest,
  Outcome,
  PackReport,
  PackRequest,
  PauseRequestInput,
  ProcessInfo,
  Progress,
  Sandbox,
  SandboxCreate,
  SandboxState,
  SandboxUpdate,
  SignalRequest,
  Stats,
  WinSize,
} from '@vivarium/protocol';
import type { BuildService } from './services/builds.ts';
import type { FileService } from './services/files.ts';
import type { FnService } from './services/fn.ts';
import type { VolumeService } from './services/volumes.ts';

/**
 * What the control plane may ask of a node. The apiserver talks to this interface only; every method throws VivError.
 * `Edge` is the truth for its sandboxes: it has written them down before it answers.
 */
export interface Edge {
  readonly sandboxes: SandboxService;
  readonly execs: ExecService;
  readonly files: FileService;
  readonly ports: PortService;
  readonly leases: LeaseService;
  readonly images: ImageService;
  readonly builds: BuildService;
  readonly volumes: VolumeService;
  readonly fn: FnService;
  readonly info: InfoService;
}

export type Owner = { keyId: string; maxSandboxes: number | null };
export type Idempotency = { key: string; requestHash: string };
export type PageRequest = { limit: number; cursor?: string | undefined };
export type PageOf<T> = { items: T[]; nextCursor: string | null };

/** All that is given must match. */
export type SandboxFilter = {
  labels?: Record<string, string>;
  metadata?: Record<string, string>;
  states?: SandboxState[];
  /** Names of images: one must match. */
  images?: string[];
  /** One must match. */
  kinds?: readonly Kind[];
  lease?: string;
  owner?: string;
  /** Began to run after this time. */
  startedAfterMs?: number;
  /** Of their creation. Default `desc`: newest first. */
  order?: 'asc' | 'desc';
};

export interface SandboxService {
  /** Resolves when the sandbox runs. The same idempotency key returns the first result; another request with it is `idempotency_mismatch`. */
  create(request: SandboxCreate, owner: Owner, idempotency?: Idempotency): Promise<Sandbox>;
  get(id: string): Sandbox;
  /** A cursor stays right while sandboxes come and go: the next page begins where the last one ended. */
  list(filter: SandboxFilter, page: PageRequest): PageOf<Sandbox>;
  update(id: string, change: SandboxUpdate): Sandbox;
  /** Idempotent: killing an ended sandbox answers with it; an unknown id is `sandbox_not_found`. */
  kill(id: string): Promise<Sandbox>;
  /** See PauseRequest. A frozen one can be asked to give up its memory later; one that has none stays without. */
  pause(id: string, options?: PauseRequestInput): Promise<Sandbox>;
  resume(id: string): Promise<Sandbox>;
  /** At once when it runs. A paused one with `autoResume` is resumed, once for all that wait; any other is `sandbox_paused`. */
  wake(id: string): Promise<Sandbox>;
  /** Mounts a directory of an image of one layer, read-only, on a directory of a running sandbox. */
  mount(id: string, request: MountRequest): Promise<void>;
  unmount(id: string, at: string): Promise<void>;
  /** Ends every process but those of running commands with one of these labels; the other commands end as `canceled`. */
  sweep(id: string, keepLabels: readonly string[]): Promise<{ ended: number }>;
  /** Resolves when the sandbox is in one of the states, or after waitMs with what it is then. */
  wait(id: string, states: SandboxState[], waitMs: number): Promise<Sandbox>;
  stats(id: string): Promise<Stats>;
  /** What was measured of it between two times (inclusive), oldest first: a sample every few seconds, of a bounded time back. */
  statsHistory(id: string, fromMs: number, toMs: number): Promise<Stats[]>;
  processes(id: string): Promise<ProcessInfo[]>;
  changes(id: string): AsyncIterable<Change>;
  /** All or none. The same idempotency key returns the first forks. */
  fork(id: string, request: ForkRequest, owner: Owner, idempotency?: Idempotency): Promise<Sandbox[]>;
  snapshot(id: string, image: string, labels?: Record<string, string>): Promise<Image>;
  /** What it changed, as a layer and an image; see PackRequest. The same idempotency key returns the first report. */
  pack(id: string, request: PackRequest, owner: Owner, idempotency?: Idempotency): Promise<PackReport>;
  logs(id: string, after: number, limit: number): Promise<JournalRecord[]>;
  /** Live records after `after`; ends with the sandbox or the signal. */
  followLogs(id: string, after: number, signal: AbortSignal): AsyncIterable<JournalRecord>;
  /** Lifecycle changes; ends with the signal. Bounded: a subscriber that lags too far is ended with `connection_lost`. */
  events(filter: { id?: string; label?: string; owner?: string }, signal: AbortSignal): AsyncIterable<Sandbox>;
  /** Id of the API key that made it. */
  owner(id: string): string;
  /** The secret for direct traffic to this sandbox. */
  token(id: string): string;
  /** Any traffic counts against the idle time-out. */
  touch(id: string): void;
}

export interface ExecService {
  /** Runs to the end (or, with `detach`, until it runs) and returns what was kept of the output. */
  run(sandbox: string, start: ExecStart, idempotency?: Idempotency, room?: Room): Promise<ExecResult>;
  /** Starts and streams. */
  start(sandbox: string, start: ExecStart, options: StreamOptions, idempotency?: Idempotency): Promise<ExecStream>;
  attach(
    sandbox: string,
    exec: string,
    options: StreamOptions & { stdoutOffset: number; stderrOffset: number },
  ): Promise<ExecStream>;
  get(sandbox: string, exec: string): Promise<Exec>;
  /** With the output that was kept; waits up to waitMs for the end. */
  result(sandbox: string, exec: string, waitMs: number, room?: Room): Promise<ExecResult>;
  list(sandbox: string, page: PageRequest): Promise<PageOf<Exec>>;
  /** Those that have not ended, oldest first. Costs no look into the journal. */
  running(sandbox: string): Exec[];
  signal(sandbox: string, exec: string, request: SignalRequest): Promise<void>;
  resize(sandbox: string, exec: string, size: WinSize): Promise<void>;
  /** Ends the command and all it started; outcome `canceled`. */
  cancel(sandbox: string, exec: string): Promise<void>;
}

/** Resolves when this much output may be read into memory for an answer. */
export type Room = (bytes: number) => Promise<void>;

export type StreamOptions = {
  /** Does this client send stdin? Otherwise EOF at once (start) or untouched (attach). */
  stdin: boolean;
  /** Called in order, per sub-channel 1 and 2. The promise it returns is the back-pressure: the next chunk of that channel comes after it. A chunk is valid only until then. */
  onData(sub: 1 | 2, offset: number, chunk: Uint8Array): void | Promise<void>;
  /** Output between these offsets is no longer kept. */
  onGap(sub: 1 | 2, from: number, to: number): void;
};

/** A client's view of one running command. Closing it leaves the command running. */
export interface ExecStream {
  readonly exec: Exec;
  /** Resolves when the command ended and onData has been given everything. */
  readonly done: Promise<Exec>;
  /** Resolves when the guest has room for more. Rejects `exec_not_running`. */
  write(chunk: Uint8Array): Promise<void>;
  closeStdin(): Promise<void>;
  close(): void;
}

/** A byte connection into or out of a sandbox, already flow-controlled: a Node Duplex. */
export type PortStream = import('node:stream').Duplex;
export interface PortService {
  /** `port_closed` when nothing listens. Counts as traffic while bytes move. */
  connect(sandbox: string, target: { port: number } | { unixPath: string }): Promise<PortStream>;
  /** A listener inside; connections come out until the signal. */
  listen(
    sandbox: string,
    target: { port: number } | { unixPath: string },
    signal: AbortSignal,
  ): Promise<{ port: number; connections: AsyncIterable<PortStream> }>;
}

export interface LeaseService {
  create(request: LeaseCreate, owner: Owner): Lease;
  get(id: string): Lease;
  /** Id of the API key that made it. */
  owner(id: string): string;
  /** The newest with this label, of one API key or of any. */
  find(label: string, owner?: string): Lease | undefined;
  list(page: PageRequest, owner?: string): PageOf<Lease>;
  renew(id: string): Lease;
  /** Held until release() is called (the connection closed): then the grace time starts. Several holders may hold at once. */
  hold(id: string): { lease: Lease; release(): void };
  /** Ends the lease and what it owns. */
  end(id: string): Promise<void>;
}

export interface ImageService {
  /** `all`: with the steps of builds. */
  list(page: PageRequest & { all?: boolean }): PageOf<Image>;
  get(name: string): Image;
  /** `image_in_use`, `image_not_found`. */
  remove(name: string): Promise<void>;
  /** Single-flight per name. Progress until done; an error leaves nothing. */
  import(request: ImageImport, signal: AbortSignal): AsyncIterable<Progress>;
  /** The file tree comes as a tar stream. */
  importTar(
    request: { name: string; config: unknown; opaque?: readonly string[] },
    body: AsyncIterable<Uint8Array>,
    signal: AbortSignal,
  ): AsyncIterable<Progress>;
  /** An OCI layout or docker-save archive comes as a tar stream; `ref` says which image of several. */
  importOci(
    request: { name: string; ref?: string | undefined; config: unknown },
    body: AsyncIterable<Uint8Array>,
    signal: AbortSignal,
  ): AsyncIterable<Progress>;
}

export interface InfoService {
  node(): Promise<import('@vivarium/protocol').NodeInfo>;
  capabilities(): Promise<Capability[]>;
  /** Prometheus text format. */
  metrics(): Promise<string>;
}

export type * from './services/builds.ts';
export type * from './services/files.ts';
export type * from './services/fn.ts';
export type * from './services/volumes.ts';
export type { BuildStep, Outcome, StepAction };
