/** Where the files of volumes lie. Each volume has a directory that sandboxes mount and one beside it that they never see. */
export interface VolumeDisk {
  /** Why there can be no volumes now; null: there can. */
  readonly trouble: string | null;
  /** Makes it; at most `limitBytes` of files go in. Whole when this resolves, also after a power cut. */
  create(id: string, limitBytes: number): Promise<void>;
  /** Its files are out of reach when this resolves. What is not there is fine. */
  remove(id: string): Promise<void>;
  /** Which volumes are there. */
  list(): string[];
  /** What sandboxes mount: owned by 1000, open to every user inside. */
  directory(id: string): string;
  /** On the same file system and in the same account, for files on their way in or out. */
  staging(id: string): string;
  /** Changes limits, by id. A volume that holds more keeps it and takes no more. */
  limit(limits: ReadonlyMap<string, number>): Promise<void>;
  /** What it holds, as its limit counts. */
  usedBytes(id: string): number;
  /** Bytes that all volumes together may still take. */
  roomBytes(): number;
  /** What is left of the disk below them. */
  diskBytes(): number;
}
