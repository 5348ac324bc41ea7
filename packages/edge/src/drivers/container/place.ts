import type { Limits } from '@vivarium/protocol';
import type { Hierarchy } from '../../limits/hierarchy.ts';
import type { CellVolume } from '../driver.ts';

/** Where a node's container cells live. Handed to the spawner with each call, which keeps no state. */
export type Place = {
  runDir: string;
  crun: string;
  hierarchy: Hierarchy;
  /** Hierarchies of earlier starts of the server that may still hold cells, and the present one, last. */
  bases: Hierarchy[];
};

/** What the spawner needs to make one cell. */
export type CreateCell = {
  place: Place;
  id: string;
  hostname: string;
  slot: number;
  /** Lowest first. */
  layers: string[];
  limits: Limits;
  network: 'none' | 'node';
  volumes: CellVolume[];
  /** By viv-start. */
  quick: boolean;
  scratchFrom?: string;
  /** Its scratch is there: it was stopped. */
  scratchKept?: true;
  /** It is there, used: all that it holds goes, and a new one begins in its control groups. */
  renewed?: true;
};

/** What it answers. */
export type CreatedCell = { pid: number; startTime: string; subvolume: number };

/** What the spawner needs to stop or remove one, whatever state it is in. */
export type DestroyCell = { place: Place; id: string };

/**
 * Every path of a node and of a cell, in one place, below the run directory. Scratch and temporary directory are mounts
 * in the node's namespace; the sockets are where a new node finds them when all processes of the former have died.
 */
export const paths = {
  /** btrfs mount with one subvolume per cell. */
  scratch: (runDir: string) => `${runDir}/scratch`,
  cells: (runDir: string) => `${runDir}/scratch/cells`,
  cell: (runDir: string, id: string) => `${runDir}/scratch/cells/${id}`,
  snapshots: (runDir: string) => `${runDir}/scratch/snapshots`,
  /** A small tmpfs in our mount namespace, for what only starts need: the run directory may lie on a disk. */
  temporary: (runDir: string) => `${runDir}/t`,
  sockets: (runDir: string) => `${runDir}/s`,
  socket: (runDir: string, id: string) => `${runDir}/s/${id}.sock`,
  roots: (runDir: string) => `${runDir}/t/r`,
  root: (runDir: string, id: string) => `${runDir}/t/r/${id}`,
  bundles: (runDir: string) => `${runDir}/t/b`,
  /** The node's, for cells that have its network. */
  resolvConf: (runDir: string) => `${runDir}/t/resolv.conf`,
  /** crun's configuration, its messages, and the pid it reports, while it runs. */
  config: (runDir: string, id: string) => `${runDir}/t/b/${id}.json`,
  log: (runDir: string, id: string) => `${runDir}/t/b/${id}.log`,
  pidFile: (runDir: string, id: string) => `${runDir}/t/b/${id}.pid`,
  crunState: (runDir: string) => `${runDir}/t/crun`,
  crunCell: (runDir: string, id: string) => `${runDir}/t/crun/${id}`,
  /** Where idmapped copies of the layers stand for the instant in which the overlay takes them over. */
  lower: (runDir: string, index: number) => `${runDir}/t/lower/${index}`,
  lowers: (runDir: string) => `${runDir}/t/lower`,
  /** What a cell shows as /proc/sys/kernel/random/boot_id, while it starts. */
  bootId: (runDir: string, id: string) => `${paths.root(runDir, id)}.boot-id`,
  /** That file's last name: the mounts of the cell tell it. */
  booted: (runDir: string) => `${runDir}/t/r/boot-id`,
  /** crun, bound read-only: elsewhere it makes such a binding itself each time and starts over from it (1.6 ms of CPU). */
  crun: (runDir: string) => `${runDir}/t/crun-binary`,
  /** An empty directory, which masks those of /proc in all cells. */
  empty: (runDir: string) => `${runDir}/t/empty`,
  /**
   * Our copy of viv-init: mapped users can reach it wherever the sources lie, a rebuild can't change it, and it may be
   * executed (/run often is mounted noexec).
   */
  init: (runDir: string) => `${runDir}/t/viv-init`,
  /** Our copy of viv-start. */
  starter: (runDir: string) => `${runDir}/t/viv-start`,
} as const;
