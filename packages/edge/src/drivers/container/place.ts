import type { Limits } from '@vivarium/protocol';
import type { Hierarchy } from '../../limits/hierarchy.ts';

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
  scratchFrom?: string;
};

/** What it answers. */
export type CreatedCell = { pid: number; startTime: string; subvolume: number };

/** What the spawner needs to remove one, whatever state it is in. */
export type DestroyCell = { place: Place; id: string };

/** Every path of a node and of a cell, in one place. All below the run directory: nothing of it outlives a reboot. */
export const paths = {
  /** btrfs mount with one subvolume per cell. */
  scratch: (runDir: string) => `${runDir}/scratch`,
  cells: (runDir: string) => `${runDir}/scratch/cells`,
  cell: (runDir: string, id: string) => `${runDir}/scratch/cells/${id}`,
  snapshots: (runDir: string) => `${runDir}/scratch/snapshots`,
  sockets: (runDir: string) => `${runDir}/s`,
  socket: (runDir: string, id: string) => `${runDir}/s/${id}.sock`,
  roots: (runDir: string) => `${runDir}/r`,
  root: (runDir: string, id: string) => `${runDir}/r/${id}`,
  bundles: (runDir: string) => `${runDir}/b`,
  /** crun's configuration, its messages, and the pid it reports, while it runs. */
  config: (runDir: string, id: string) => `${runDir}/b/${id}.json`,
  log: (runDir: string, id: string) => `${runDir}/b/${id}.log`,
  pidFile: (runDir: string, id: string) => `${runDir}/b/${id}.pid`,
  crunState: (runDir: string) => `${runDir}/crun`,
  crunCell: (runDir: string, id: string) => `${runDir}/crun/${id}`,
  /** Where idmapped copies of the layers stand for the instant in which the overlay takes them over. */
  lower: (runDir: string, index: number) => `${runDir}/lower/${index}`,
  lowers: (runDir: string) => `${runDir}/lower`,
  /** crun, bound read-only: elsewhere it makes such a binding itself each time and starts over from it (1.6 ms of CPU). */
  crun: (runDir: string) => `${runDir}/crun-binary`,
  /** Our copy of viv-init: mapped users can reach it wherever the sources lie, and a rebuild can't change it. */
  init: (runDir: string) => `${runDir}/viv-init`,
} as const;
