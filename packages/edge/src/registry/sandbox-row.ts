import { isoTime } from '@vivarium/core';
import type {
  EndReason,
  ErrorCode,
  Kind,
  Limits,
  MountedVolume,
  Reach,
  Sandbox,
  SandboxState,
} from '@vivarium/protocol';
import type { CellRecord } from '../drivers/driver.ts';

/** Everything the edge knows of one sandbox, as it is written down. Times in milliseconds since the epoch. */
export type SandboxRow = {
  id: string;
  keyId: string;
  state: SandboxState;
  name: string | null;
  kind: Kind;
  image: string;
  labels: Record<string, string>;
  /** What is optional here is missing in rows of former versions. */
  metadata?: Record<string, string>;
  limits: Limits;
  /** Of the image's config and the request, merged. */
  env: Record<string, string>;
  cwd: string | null;
  user: string | null;
  ttlS: number;
  idleTimeoutS: number | null;
  onTimeout: 'kill' | 'pause';
  /** Does a time-out's pause keep its processes? */
  pauseMemory?: boolean;
  autoResume?: boolean;
  /** It has no cell, or soon none: it is being paused without memory, is paused so, or its new cell does not run yet. */
  cold?: boolean;
  lease: string | null;
  reach: Reach[];
  /** It is a step of a build: it ends with the process that runs the build, and may have the node's network. */
  builder?: { network: 'none' | 'node' };
  /** For direct traffic. */
  token: string;
  createdAt: number;
  startedAt: number | null;
  endedAt: number | null;
  expiresAt: number | null;
  endReason: EndReason | null;
  error: string | null;
  errorCode: ErrorCode | null;
  /** The driver's own, once the cell has booted. */
  record: CellRecord | null;
  /** Digests of the layers: of the image, then of what lies over it. */
  layers: string[];
  /** How many of them, from the first on, are its root file system; the rest are mounted somewhere in it. */
  rootLayers?: number;
  /** Images that lie over it; missing in rows of former versions. */
  overlay?: string[];
  /** Volumes that it has from its creation on: they are in use as long as it lives. */
  volumes?: MountedVolume[];
  /** Images mounted while it runs, and where. */
  mounts?: { image: string; at: string; from?: string; digest?: string }[];
};

/** The row as the API shows it: without secrets; the token only where it is asked for. */
export function toSandbox(row: SandboxRow, withToken = false): Sandbox {
  const time = (ms: number | null) => (ms === null ? null : isoTime(ms));
  return {
    id: row.id,
    name: row.name,
    kind: row.kind,
    image: row.image,
    state: row.state,
    endReason: row.endReason,
    error: row.error,
    labels: row.labels,
    metadata: row.metadata ?? {},
    limits: row.limits,
    createdAt: isoTime(row.createdAt),
    startedAt: time(row.startedAt),
    endedAt: time(row.endedAt),
    expiresAt: time(row.expiresAt),
    idleTimeoutS: row.idleTimeoutS,
    onTimeout: row.onTimeout,
    pauseMemory: row.pauseMemory ?? true,
    autoResume: row.autoResume ?? false,
    cold: (row.cold ?? false) && isPause(row.state),
    lease: row.lease,
    reach: row.reach.map(({ headers: _, ...rest }) => rest),
    overlay: row.overlay ?? [],
    volumes: row.volumes ?? [],
    network: row.builder?.network ?? 'none',
    ...(withToken ? { token: row.token } : {}),
  };
}

/** From being paused to running again. */
function isPause(state: SandboxState): boolean {
  return state === 'pausing' || state === 'paused' || state === 'resuming';
}
