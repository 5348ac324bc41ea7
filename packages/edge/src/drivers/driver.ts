import type { Duplex } from 'node:stream';
import type { Capability, Change, Kind, Limits, Stats } from '@vivarium/protocol';

/**
 * A driver boots a cell and hands back one byte stream to its viv-init. It gets resolved paths and limits and knows
 * nothing of repositories, HTTP or tenants. Every driver passes drivers/contract.ts.
 */
export interface Driver {
  readonly kind: Kind;
  /** What this machine can do for this kind, why not, and the remedy. */
  capabilities(): Promise<Capability[]>;
  /** Checks capacity and features before anything is made. Throws VivError `unsupported`, `node_full`, `node_disk_full`. */
  prepare(spec: CellSpec): Promise<void>;
  /** Boots the cell. On an error nothing of it is left behind. */
  start(spec: CellSpec): Promise<CellHandle>;
  /**
   * Boots a cell that was stopped anew, over its own scratch; its layers are those it had. The handle takes the place of the stopped one. On
   * an error it stays stopped.
   */
  restart(stopped: CellRecord, spec: CellSpec): Promise<CellHandle>;
  /**
   * Boots a cell anew that was used, as clean as one that `start` makes: nothing of it goes on, neither processes nor files nor any
   * namespace. Cheaper than both `destroy` and `start`. The handle takes the place of the used one, which
   * remains to be destroyed after an error.
   */
  renew(used: CellHandle, spec: CellSpec): Promise<CellHandle>;
  /** The same after an edge restart. Throws VivError `sandbox_lost` when the cell is gone (and removes what is left of it). */
  adopt(record: CellRecord): Promise<CellHandle>;
  /** `adopt` for a cell that is stopped, or was to be: what still runs of it is ended. Throws `sandbox_lost` when its scratch is gone, or of before a reboot. */
  adoptStopped(record: CellRecord): Promise<CellHandle>;
  /** Removes whatever a dead cell of ours, known by its record or not at all (crash in mid-start), left behind. */
  sweep(known: ReadonlySet<string>): Promise<string[]>;
}

/** One lower layer, resolved: a directory where it is mounted read-only on this node. Lowest first. */
export type LayerMount = { digest: string; path: string };

/** A directory of the node that a cell mounts read-write (or not) by idmapping: ids on disk are those inside. Set-id bits and devices in it mean nothing. */
export type CellVolume = { directory: string; at: string; readOnly: boolean };

export type CellSpec = {
  id: string;
  hostname: string;
  layers: LayerMount[];
  limits: Limits;
  /** Default environment of every command (image config, then the sandbox's own). */
  env: Record<string, string>;
  /** `node`: the node's own network, for steps of builds; else a loopback device and nothing more. */
  network?: 'none' | 'node';
  /** Absent: none. Throws `unsupported` in `prepare` where a kind can't have them. */
  volumes?: CellVolume[];
  /**
   * For cells that run one command at a time: its group is all but PID 1, and PID 1 is started by viv-start instead of an OCI runtime, at
   * a third of the cost. Neither with volumes nor with the node's network.
   */
  quick?: boolean;
  /** Scratch to start from: the snapshot of another sandbox's scratch (fork), else empty. */
  scratchFrom?: string;
};

/** JSON that the edge stores in its registry and hands back to `adopt`; opaque to the edge but for these. */
export type CellRecord = { id: string; kind: Kind; [key: string]: unknown };

export interface CellHandle {
  readonly record: CellRecord;
  /**
   * A fresh connection to the cell's viv-init; the guest keeps one at a time, so a new one displaces the old. Rejects with VivError
   * `sandbox_lost` when PID 1 is gone. Cheap: the edge calls it again whenever the stream broke.
   */
  connect(): Promise<Duplex>;
  /** Resolves when PID 1 has ended, however; never rejects. */
  readonly ended: Promise<{ reason: string }>;
  /** Where the CONFIG frame's contents come from: what this driver wants PID 1 to do before it accepts commands. */
  guestConfig(): GuestConfig;
  /**
   * Puts a waiting child (its pid as the guest sees it) into a control group of its own so that it and all its descendants can be ended
   * together, whatever sessions they leave. Called before START. VMs return null (the guest does it).
   */
  placeCommand(execId: string, guestPid: number): Promise<CommandGroup | null>;
  /** Finds the group again after an edge restart. */
  findCommand(execId: string): Promise<CommandGroup | null>;
  /** SIGKILL to every process but PID 1 and those of the named commands; resolves when they are gone, with how many there were. */
  endProcesses(keepExecs: readonly string[]): Promise<number>;
  /**
   * Mounts a directory of a layer, read-only, on a directory of the running cell; neither path is followed through a link. Throws
   * VivError `path_not_found` when one of them is no directory.
   */
  attachLayer(layer: LayerMount, from: string, at: string): Promise<void>;
  /** Takes away what `attachLayer` mounted there last; nothing there is fine. */
  detachLayer(at: string): Promise<void>;
  pause(): Promise<void>;
  resume(): Promise<void>;
  usage(): Promise<Usage>;
  /** What was hit so far. Synchronous and cheap: it is read at the start and the end of every command. Null when the host can't tell. */
  counters(): Counters | null;
  /** Paths that differ from the image, in bounded batches, sorted by path. The cell should be paused or quiet for an exact answer. */
  changes(): AsyncIterable<Change>;
  /**
   * The upper directory (in overlay form with whiteouts) and id shift from which a layer can be built; call `release` when done. It is a copy of
   * this moment, which outlives the cell; with `live` the directory itself, free of cost, right as long as the caller keeps the cell frozen.
   */
  exportChanges(options?: { live: boolean }): Promise<{ upperDir: string; idShift: number; release(): Promise<void> }>;
  /** A snapshot of the scratch that a new cell can start from (`scratchFrom`); removed by `dropSnapshot`. */
  snapshotScratch(name: string): Promise<string>;
  dropSnapshot(path: string): Promise<void>;
  /**
   * Ends all its processes, PID 1 too, and keeps its scratch. What reads files (changes, exports, snapshots) works on, and so do `usage`,
   * which then counts no more than its disk, and `destroy`; it can be started again (`Driver.restart`). Idempotent.
   */
  stop(): Promise<void>;
  /** Ends everything and removes everything of it. Idempotent. */
  destroy(): Promise<void>;
}

export type GuestConfig = {
  seccomp?: Uint8Array;
  capKeep?: bigint;
  unshareCgroup?: boolean;
  loopbackUp?: boolean;
  hostname?: string;
  sysctls?: Record<string, string>;
  /** Make /proc/sys read-only once the sysctls are set. */
  readonlySysctls?: boolean;
  env?: Record<string, string>;
  rlimits?: { resource: number; soft: bigint; hard: bigint }[];
};

/** All processes of one command. */
export interface CommandGroup {
  /** SIGKILL to every process in it, none can escape; resolves when they are gone (bounded wait). */
  kill(): Promise<void>;
  /** Any other signal to every process in it. */
  signal(signal: number): Promise<void>;
  /** Are there processes left? */
  populated(): Promise<boolean>;
  /** Forgets the group; leftovers move to the cell's own group. */
  release(): Promise<void>;
}

/** Counters of one cell; they only rise. */
export type Counters = {
  oomKills: number;
  /** How often the pids limit refused a fork, as far as the kernel says. */
  pidsDenied: number;
  /** Time its CPU quota made it wait, summed over CPUs. */
  throttledUs: number;
};

/** Stats without what only the edge knows, plus counters to tell why a command died. */
export type Usage = Omit<Stats, 'at' | 'cpuWantedUs' | 'execsRunning' | 'execsTotal'> & {
  /** How often the pids limit refused a fork, as far as the kernel says. */
  pidsDenied: number;
};
