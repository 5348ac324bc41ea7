import type { Readable } from 'node:stream';
import { type CellEntry, ENTRY_BYTES_MAX, parseEntry } from './entry.ts';
import { FileReadable, READ_WINDOW } from './file-readable.ts';
import {
  type FileFields,
  type FileResult,
  type FileSystemStats,
  FILE_FLAG as FLAG,
  fileFlags,
  fileFrame,
  FILE_OP as OP,
  parseEntryResult,
  parseFileResult,
  parseStatsResult,
} from './file-request.ts';
import { metadataItems } from './metadata.ts';
import { RecordStream } from './record-stream.ts';
import type { RequestOptions } from './request.ts';
import type { Session } from './session.ts';
import { Upload, type UploadBody } from './upload.ts';
import { type CellWatchEvent, EVENT_BYTES_MAX, parseWatchEvent } from './watch-event.ts';

export type { CellWatchEvent, FileSystemStats };

/** Options of every file operation. */
export type FileOptions = {
  /** Whose permissions count; default root. Relative paths start at that user's home. */
  user?: string | undefined;
  /** Permissions don't count, as for root; what is made still belongs to `user`. */
  privileged?: boolean | undefined;
  /** A directory beneath which the path must stay; leaving it is `path_escapes`. */
  base?: Uint8Array | undefined;
  /** Ends the operation inside the guest. */
  signal?: AbortSignal | undefined;
};

export type FileWriteOptions = FileOptions & {
  mode?: number | undefined;
  /** Temporary file and rename: an error or abort leaves the old file. */
  atomic?: boolean | undefined;
  append?: boolean | undefined;
  parents?: boolean | undefined;
  exclusive?: boolean | undefined;
  fsync?: boolean | undefined;
  /** Write there, without truncation. */
  offset?: number | undefined;
  /** `user[:group]`. */
  owner?: string | undefined;
  /** Its time afterwards; absent: now. */
  mtimeNs?: bigint | undefined;
  /** Noted with the file. Where the file system cannot, the entry answered has none. */
  metadata?: Readonly<Record<string, string>> | undefined;
};

export type FileRead = {
  entry: CellEntry;
  /** Destroying it ends the read. */
  stream: Readable;
};

/** Recursive operations move no data, so only this bounds them (besides the caller's signal). */
const RECURSIVE_MS = 600_000;

/** File operations, all resolved and done inside the guest. Paths are bytes. Errors: failure.ts; `connection_lost` is never retried here. */
export class CellFiles {
  protected readonly session: Session;

  constructor(session: Session) {
    this.session = session;
  }

  /** lstat, unless `follow`. `resolve`: of a link also where it leads. */
  stat(path: Uint8Array, options: FileOptions & { follow?: boolean; resolve?: boolean } = {}): Promise<CellEntry> {
    const flags = fileFlags(options.follow && FLAG.FOLLOW, options.resolve && FLAG.RESOLVE);
    return this.#entry('stat', OP.STAT, path, options, { flags });
  }

  /** Parents before children; depth 1 = direct children, 0 = unlimited. `metadata` doubles its time. Leaving the loop ends it in the guest. */
  async *list(
    path: Uint8Array,
    options: FileOptions & { depth?: number; self?: boolean; resolve?: boolean; metadata?: boolean } = {},
  ): AsyncGenerator<CellEntry, void, undefined> {
    await this.session.whenUp();
    const flags = fileFlags(
      options.self && FLAG.SELF,
      options.resolve && FLAG.RESOLVE,
      options.metadata && FLAG.WITH_METADATA,
      privileged(options),
    );
    const fields = { ...common(path, options), depth: options.depth ?? 1, flags };
    const build = (stream: number): Buffer => fileFrame(OP.LIST, fields, stream);
    yield* new RecordStream(this.session, ENTRY_BYTES_MAX, parseEntry, build, request('list', path, options));
  }

  /** Regular files only. `onChunk` sees the content as it arrives, from the first byte. */
  async read(
    path: Uint8Array,
    options: FileOptions & { offset?: number; length?: number; onChunk?: (chunk: Uint8Array) => void } = {},
  ): Promise<FileRead> {
    await this.session.whenUp();
    const fields = {
      ...common(path, options),
      offset: options.offset,
      length: options.length,
      window: READ_WINDOW,
      flags: fileFlags(privileged(options)),
    };
    const build = (stream: number): Buffer => fileFrame(OP.READ, fields, stream);
    const { onChunk } = options;
    return FileReadable.open(this.session, parseEntryResult, build, { ...request('read', path, options), onChunk });
  }

  /** The body's chunks must not change once they are handed over. If the body throws, the write is undone (atomic) or ends there. */
  async write(path: Uint8Array, body: UploadBody, options: FileWriteOptions = {}): Promise<CellEntry> {
    await this.session.whenUp();
    const flags = fileFlags(
      options.atomic && FLAG.ATOMIC,
      options.append && FLAG.APPEND,
      options.parents && FLAG.PARENTS,
      options.exclusive && FLAG.EXCLUSIVE,
      options.fsync && FLAG.FSYNC,
      options.offset !== undefined && FLAG.AT_OFFSET,
      privileged(options),
    );
    const { mode, offset, owner, mtimeNs } = options;
    const metadata = metadataItems(options.metadata);
    const fields = { ...common(path, options), mode, offset, owner, mtimeNs, metadata, flags };
    const upload = new Upload(this.session, request('write', path, options), parseEntryResult);
    return upload.sendBody((stream) => fileFrame(OP.WRITE, fields, stream), body);
  }

  mkdir(
    path: Uint8Array,
    options: FileOptions & { mode?: number; parents?: boolean; exclusive?: boolean } = {},
  ): Promise<CellEntry> {
    const flags = fileFlags(options.parents && FLAG.PARENTS, options.exclusive && FLAG.EXCLUSIVE);
    return this.#entry('mkdir', OP.MKDIR, path, options, { mode: options.mode, flags });
  }

  rename(
    from: Uint8Array,
    to: Uint8Array,
    options: FileOptions & { parents?: boolean; noReplace?: boolean; resolve?: boolean } = {},
  ): Promise<CellEntry> {
    const flags = fileFlags(
      options.parents && FLAG.PARENTS,
      options.noReplace && FLAG.EXCLUSIVE,
      options.resolve && FLAG.RESOLVE,
    );
    return this.#entry('rename', OP.RENAME, from, options, { path2: to, flags });
  }

  async remove(
    path: Uint8Array,
    options: FileOptions & { recursive?: boolean; missingOk?: boolean } = {},
  ): Promise<{ removed: number }> {
    const flags = fileFlags(options.recursive && FLAG.RECURSIVE, options.missingOk && FLAG.MISSING_OK);
    const { count } = await this.#request('remove', OP.REMOVE, path, options, { flags });
    return { removed: count ?? 0 };
  }

  async chmod(path: Uint8Array, mode: number, options: FileOptions & { recursive?: boolean } = {}): Promise<void> {
    const flags = fileFlags(options.recursive && FLAG.RECURSIVE);
    await this.#request('chmod', OP.CHMOD, path, options, { mode, flags });
  }

  /** `owner`: `user[:group]`, looked up inside, or numbers. */
  async chown(
    path: Uint8Array,
    owner: string | { uid: number; gid: number },
    options: FileOptions & { recursive?: boolean } = {},
  ): Promise<void> {
    const flags = fileFlags(options.recursive && FLAG.RECURSIVE);
    const who = typeof owner === 'string' ? { owner } : { uid: owner.uid, gid: owner.gid };
    await this.#request('chown', OP.CHOWN, path, options, { ...who, flags });
  }

  async symlink(
    path: Uint8Array,
    target: Uint8Array,
    options: FileOptions & { parents?: boolean } = {},
  ): Promise<void> {
    const flags = fileFlags(options.parents && FLAG.PARENTS);
    await this.#request('symlink', OP.SYMLINK, path, options, { path2: target, flags });
  }

  /** A hard link. */
  async link(path: Uint8Array, existing: Uint8Array, options: FileOptions = {}): Promise<void> {
    await this.#request('link', OP.LINK, path, options, { path2: existing });
  }

  async utimes(path: Uint8Array, mtimeNs: bigint, options: FileOptions = {}): Promise<void> {
    await this.#request('utimes', OP.UTIMES, path, options, { mtimeNs });
  }

  async truncate(path: Uint8Array, length: number, options: FileOptions = {}): Promise<void> {
    await this.#request('truncate', OP.TRUNCATE, path, options, { length });
  }

  async statfs(path: Uint8Array, options: FileOptions = {}): Promise<FileSystemStats> {
    return this.#ask('statfs', OP.STATFS, path, options, {}, parseStatsResult);
  }

  /** Armed when it resolves; ends with the signal (which the loop throws as an error) or when the loop is left. */
  async watch(
    path: Uint8Array,
    options: FileOptions & { recursive?: boolean } = {},
  ): Promise<AsyncIterableIterator<CellWatchEvent>> {
    await this.session.whenUp();
    const flags = fileFlags(options.recursive && FLAG.RECURSIVE, privileged(options));
    const fields = { ...common(path, options), flags };
    const build = (stream: number): Buffer => fileFrame(OP.WATCH, fields, stream);
    const events = new RecordStream(
      this.session,
      EVENT_BYTES_MAX,
      parseWatchEvent,
      build,
      request('watch', path, options),
    );
    return events.armed();
  }

  #entry(
    name: string,
    op: number,
    path: Uint8Array,
    options: FileOptions,
    fields: Partial<FileFields>,
  ): Promise<CellEntry> {
    return this.#ask(name, op, path, options, fields, parseEntryResult);
  }

  #request(
    name: string,
    op: number,
    path: Uint8Array,
    options: FileOptions,
    fields: Partial<FileFields>,
  ): Promise<FileResult> {
    return this.#ask(name, op, path, options, fields, parseFileResult);
  }

  #ask<T>(
    name: string,
    op: number,
    path: Uint8Array,
    options: FileOptions,
    fields: Partial<FileFields>,
    parse: (payload: Buffer) => T,
  ): Promise<T> {
    const all = { ...common(path, options), ...fields, flags: fileFlags(fields.flags, privileged(options)) };
    const how = request(name, path, options);
    if (fields.flags !== undefined && fields.flags & FLAG.RECURSIVE) how.timeoutMs = RECURSIVE_MS;
    return this.session.request((stream) => fileFrame(op, all, stream), how, parse);
  }
}

function privileged(options: FileOptions): number | false {
  return options.privileged === true && FLAG.PRIVILEGED;
}

function common(path: Uint8Array, { user, base }: FileOptions): FileFields {
  return { path, user, base };
}

function request(name: string, path: Uint8Array, { signal }: FileOptions): RequestOptions {
  return { what: `${name} ${Buffer.from(path.buffer, path.byteOffset, path.length).toString()}`, signal };
}
