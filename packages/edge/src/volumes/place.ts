/** Paths of volumes, below the run and the state directory. */
export const volumePaths = {
  /** Sparse file with the file system of all volumes. */
  file: (stateDir: string) => `${stateDir}/volumes.btrfs`,
  /** Where it is mounted, in the node's namespace: one subvolume per volume. */
  mount: (runDir: string) => `${runDir}/volumes`,
  volume: (runDir: string, id: string) => `${runDir}/volumes/${id}`,
  directory: (runDir: string, id: string) => `${runDir}/volumes/${id}/data`,
  staging: (runDir: string, id: string) => `${runDir}/volumes/${id}/staging`,
} as const;
