import type { Readable } from 'node:stream';
import type { Entry, WatchEvent } from '@vivarium/protocol';

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
  /** `metadata` of the entries is read only where asked: it doubles the time. */
  list(
    sandbox: string,
    path: FilePath,
    options: As & { depth: number; resolve?: boolean; metadata?: boolean },
  ): AsyncIterable<Entry>;
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
