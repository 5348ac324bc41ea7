import type { Readable } from 'node:stream';
import type { BuildStep, StepAction } from '@vivarium/builder';
import type {
  BuildProgress,
  BuildRequest,
  Capability,
  Change,
  Entry,
  Exec,
  ExecResult,
  ExecStart,
  ForkRequest,
  Image,
  ImageImport,
  JournalRecord,
  Lease,
  LeaseCreate,
  MountRequest,
  Outcome,
  PackReport,
  PackRequest,
  PauseRequestInput,
  ProcessInfo,
  Progress,
  PruneReport,
  Sandbox,
  SandboxCreate,
  SandboxState,
  SandboxUpdate,
  SignalRequest,
  Stats,
  Volume,
  VolumeCreate,
  VolumeEntry,
  WatchEvent,
  WinSize,
} from '@vivarium/protocol';

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

export type FilePath = Uint8Array;
/** `privileged`: permissions don't count, as for root; what is made still belongs to the user. */
export type As = { user?: string | undefined; privileged?: boolean | undefined };

export type Account = { name: string; uid: number; gid: number; home: string };
/** Who is who in a sandbox, by /etc/passwd and /etc/group. */
export type Accounts = {
  readonly users: ReadonlyMap<string, Account>;
  readonly userNames: ReadonlyMap<number, string>;
  readonly groupNames: ReadonlyMap<number, string>;
};

export interface FileService {
  /** `resolve`: of a link also where it leads. */
  stat(sandbox: string, path: FilePath, options: As & { follow: boolean; resolve?: boolean }): Promise<Entry>;
  list(sandbox: string, path: FilePath, options: As & { depth: number; resolve?: boolean }): AsyncIterable<Entry>;
  /** Looked up inside; what was read in the last seconds is good enough unless `fresh`. Not journalled. */
  accounts(sandbox: string, options?: { fresh?: boolean }): Promise<Accounts>;
  /** `entry` is known before the first byte. Destroying the stream ends the read. */
  read(
    sandbox: string,
    path: FilePath,
    options: As & { offset?: number; length?: number },
  ): Promise<{ entry: Entry; stream: Readable }>;
  /** Atomic unless append or offset is given; parents are made. An aborted body leaves the old file. */
  write(sandbox: string, path: FilePath, body: AsyncIterable<Uint8Array>, options: As & WriteOptions): Promise<Entry>;
  mkdir(
    sandbox: string,
    path: FilePath,
    options: As & { mode?: number; parents: boolean; exclusive: boolean },
  ): Promise<Entry>;
  move(
    sandbox: string,
    from: FilePath,
    to: FilePath,
    options: As & { overwrite: boolean; parents: boolean; resolve?: boolean },
  ): Promise<Entry>;
  remove(
    sandbox: string,
    path: FilePath,
    options: As & { recursive: boolean; missingOk: boolean },
  ): Promise<{ removed: number }>;
  chmod(sandbox: string, path: FilePath, mode: number, options: As & { recursive: boolean }): Promise<void>;
  chown(sandbox: string, path: FilePath, owner: string, options: As & { recursive: boolean }): Promise<void>;
  symlink(sandbox: string, path: FilePath, target: string, options: As): Promise<Entry>;
  /** Armed when the promise resolves; ends with the signal. */
  watch(
    sandbox: string,
    path: FilePath,
    options: As & { recursive: boolean },
    signal: AbortSignal,
  ): Promise<AsyncIterable<WatchEvent>>;
  /** A tar of a directory (or file), made while it is read. */
  archive(sandbox: string, path: FilePath, options: As): Promise<Readable>;
  /** Unpacks a tar beneath a directory (made if missing). An entry that would leave it is `path_escapes`. */
  unarchive(
    sandbox: string,
    path: FilePath,
    body: AsyncIterable<Uint8Array>,
    options: As & { owner?: string | undefined },
  ): Promise<{ entries: number; bytes: number }>;
}
export type WriteOptions = {
  mode?: number;
  append: boolean;
  exclusive: boolean;
  fsync: boolean;
  owner?: string | undefined;
  offset?: number | undefined;
  /** Noted with the file; a write that is atomic leaves no other. */
  metadata?: Readonly<Record<string, string>> | undefined;
};

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

/** Files that outlive sandboxes. Each belongs to an API key, which has one of a name. */
export interface VolumeService {
  /** `volume_exists`, `quota_exceeded`, `node_disk_full`. */
  create(request: VolumeCreate, owner: Owner): Promise<Volume>;
  /** By its name among those of one API key; else any by its id. `volume_not_found`. */
  find(nameOrId: string, keyId: string): Volume;
  /** As they were made. */
  list(page: PageRequest, owner?: string): PageOf<Volume>;
  /** `volume_in_use` while live sandboxes have it. */
  remove(id: string): Promise<void>;
  /** Id of the API key that made it. */
  owner(id: string): string;
  /** The secret that opens its files alone. */
  token(id: string): string;
  readonly files: VolumeFileService;
}

export type VolumeAttributes = { mode?: number | undefined; uid?: number | undefined; gid?: number | undefined };

/**
 * Files of a volume, by its id, as nobody's: the owner is 1000 unless a call says. Paths start at the root of the volume; no symbolic
 * link is followed. `volume_not_found`.
 */
export interface VolumeFileService {
  stat(volume: string, path: FilePath): Promise<VolumeEntry>;
  /** Depth 1: what lies in it. A small directory comes sorted. */
  list(volume: string, path: FilePath, options: { depth: number }): AsyncIterable<VolumeEntry>;
  read(
    volume: string,
    path: FilePath,
    options: { offset?: number; length?: number },
  ): Promise<{ entry: VolumeEntry; stream: Readable }>;
  /** Whole or not at all. An aborted body leaves the old file. */
  write(
    volume: string,
    path: FilePath,
    body: AsyncIterable<Uint8Array>,
    options: VolumeAttributes & { exclusive: boolean; parents: boolean; fsync: boolean },
  ): Promise<VolumeEntry>;
  mkdir(
    volume: string,
    path: FilePath,
    options: VolumeAttributes & { parents: boolean; exclusive: boolean },
  ): Promise<VolumeEntry>;
  setAttributes(volume: string, path: FilePath, change: VolumeAttributes): Promise<VolumeEntry>;
  /** Out of sight at once; waits a while for the space of a large tree. */
  remove(volume: string, path: FilePath, options: { recursive: boolean }): Promise<void>;
  archive(volume: string, path: FilePath): Promise<Readable>;
  unarchive(
    volume: string,
    path: FilePath,
    body: AsyncIterable<Uint8Array>,
    owner: VolumeAttributes,
  ): Promise<{ entries: number; bytes: number }>;
}

export interface BuildService {
  /**
   * Makes an image from a Dockerfile; the context comes as a tar. The last line is `done`; errors are thrown: `dockerfile_invalid`,
   * `build_failed`, `image_not_found`, `image_exists`, `invalid_archive`, `node_disk_full`. Nothing starts before the first `next()`;
   * leaving the loop ends the build. What is left of it are the steps that were complete.
   */
  build(
    request: BuildRequest,
    body: AsyncIterable<Uint8Array>,
    owner: Owner,
    signal: AbortSignal,
  ): AsyncIterable<BuildProgress>;
  /**
   * The same from the steps of a program. `files` are archives (tar, maybe compressed), which lie in the context under their names.
   * Throws as build() does.
   */
  buildSteps(
    request: BuildRequest,
    steps: readonly BuildStep[],
    files: ReadonlyMap<string, () => AsyncIterable<Uint8Array>>,
    owner: Owner,
    signal: AbortSignal,
  ): AsyncIterable<BuildProgress>;
  /** Removes cached steps that nothing uses now. */
  prune(): Promise<PruneReport>;
}

export interface InfoService {
  node(): Promise<import('@vivarium/protocol').NodeInfo>;
  capabilities(): Promise<Capability[]>;
  /** Prometheus text format. */
  metrics(): Promise<string>;
}

export type { BuildStep, Outcome, StepAction };
