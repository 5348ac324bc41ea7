import type { Readable } from 'node:stream';
import type { Volume, VolumeCreate, VolumeEntry } from '@vivarium/protocol';
import type { Owner, PageOf, PageRequest } from '../edge.ts';
import type { FilePath } from './files.ts';

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
