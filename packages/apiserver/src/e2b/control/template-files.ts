import { randomBytes } from 'node:crypto';
import {
  createReadStream,
  existsSync,
  mkdirSync,
  readdirSync,
  rmSync,
  statfsSync,
  statSync,
  utimesSync,
} from 'node:fs';
import { open, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { VivError } from '@vivarium/protocol';

/** Bounds of uploads, links those of one key; each is named in the error it causes. */
export const UPLOAD_LIMITS = { fileBytes: 8 * 1024 ** 3, keyBytes: 32 * 1024 ** 3, links: 1000 };
/** An archive that no build asked for meanwhile is removed. */
const KEEP_MS = 24 * 3_600_000;
const LINK_MS = 3_600_000;
const PART = '.part';
/** How often an upload looks at what its key has altogether. */
const LOOK_BYTES = 16 * 1024 ** 2;
/** What an upload leaves free on the node's disk. */
const RESERVE_BYTES = 256 * 1024 ** 2;

type Link = { owner: string; hash: string; expiresMs: number };

/**
 * Archives that COPY steps name, as clients upload them: by key and hash. A client may put there what it likes: no build of another key
 * sees it. Kept until no build has asked for them for a day.
 */
export class TemplateFiles {
  readonly #directory: string;
  readonly #now: () => number;
  /** Whoever has one may upload; lost with the process, as the client's call is. */
  readonly #links = new Map<string, Link>();
  readonly #used = new Map<string, number>();

  constructor(directory: string, now: () => number) {
    this.#directory = directory;
    this.#now = now;
  }

  has(owner: string, hash: string): boolean {
    const path = this.#path(owner, hash);
    if (!existsSync(path)) return false;
    this.#touch(path);
    return true;
  }

  /** A secret that allows one to upload this archive, for an hour. */
  link(owner: string, hash: string): string {
    const now = this.#now();
    for (const [token, { expiresMs }] of this.#links) if (expiresMs <= now) this.#links.delete(token);
    // The oldest gives way, of this key: others keep theirs.
    const own = [...this.#links].filter(([, one]) => one.owner === owner);
    for (const [token] of own.slice(0, Math.max(0, own.length + 1 - UPLOAD_LIMITS.links))) this.#links.delete(token);
    const token = randomBytes(24).toString('base64url');
    this.#links.set(token, { owner, hash, expiresMs: now + LINK_MS });
    return token;
  }

  /** Throws `route_not_found` (no such link), `payload_too_large`, `quota_exceeded`, `node_disk_full`. An upload that breaks leaves nothing. */
  async receive(token: string, body: AsyncIterable<Uint8Array>): Promise<void> {
    const link = this.#links.get(token);
    if (!link || link.expiresMs <= this.#now())
      throw new VivError('route_not_found', 'this upload link is not valid any more; ask for another one');
    const { owner, hash } = link;
    const path = this.#path(owner, hash);
    mkdirSync(join(this.#directory, owner), { recursive: true, mode: 0o700 });
    const part = `${path}${PART}-${randomBytes(6).toString('hex')}`;
    try {
      await this.#write(part, body, owner);
      await rename(part, path);
    } catch (thrown) {
      await rm(part, { force: true });
      throw isFull(thrown) ? diskFull(this.#directory) : thrown;
    }
  }

  /** The archives as they are read, and a hold on them until `release`. Throws `build_failed` for one that was not uploaded. */
  hold(
    owner: string,
    hashes: readonly string[],
  ): { files: Map<string, () => AsyncIterable<Uint8Array>>; release(): void } {
    const files = new Map<string, () => AsyncIterable<Uint8Array>>();
    for (const hash of hashes) {
      const path = this.#path(owner, hash);
      if (!this.has(owner, hash))
        throw new VivError('build_failed', `the files ${hash} of a COPY were not uploaded, or are not kept any more`);
      files.set(hash, () => createReadStream(path, { highWaterMark: 256 * 1024 }));
    }
    const paths = hashes.map((hash) => this.#path(owner, hash));
    for (const path of paths) this.#used.set(path, (this.#used.get(path) ?? 0) + 1);
    const release = () => {
      for (const path of paths) {
        const users = this.#used.get(path)! - 1;
        if (users > 0) this.#used.set(path, users);
        else this.#used.delete(path);
      }
    };
    return { files, release };
  }

  /** Removes what was not used for a day, and what broken uploads of a former process left. */
  sweep(): void {
    const before = this.#now() - KEEP_MS;
    for (const owner of list(this.#directory))
      for (const name of list(join(this.#directory, owner))) {
        const path = join(this.#directory, owner, name);
        if (!this.#used.has(path) && statSync(path).mtimeMs < before) rmSync(path, { force: true });
      }
  }

  async #write(path: string, body: AsyncIterable<Uint8Array>, owner: string): Promise<void> {
    const left = UPLOAD_LIMITS.keyBytes - this.#bytesOf(owner);
    const file = await open(path, 'wx', 0o600);
    let bytes = 0;
    let looked = 0;
    try {
      for await (const chunk of body) {
        bytes += chunk.length;
        if (bytes > UPLOAD_LIMITS.fileBytes)
          throw tooLarge('payload_too_large', 'this archive', UPLOAD_LIMITS.fileBytes);
        // Other uploads of this key may go on beside it.
        const look = bytes - looked > LOOK_BYTES;
        if (look) looked = bytes;
        if (bytes > left || (look && this.#bytesOf(owner) > UPLOAD_LIMITS.keyBytes))
          throw tooLarge('quota_exceeded', 'the uploads of this key', UPLOAD_LIMITS.keyBytes);
        if (freeBytes(this.#directory) < RESERVE_BYTES) throw diskFull(this.#directory);
        for (let at = 0; at < chunk.length; ) at += (await file.write(chunk, at)).bytesWritten;
      }
    } finally {
      await file.close();
    }
  }

  #bytesOf(owner: string): number {
    const directory = join(this.#directory, owner);
    return list(directory).reduce(
      (sum, name) => sum + (statSync(join(directory, name), { throwIfNoEntry: false })?.size ?? 0),
      0,
    );
  }

  #path(owner: string, hash: string): string {
    return join(this.#directory, owner, hash);
  }

  #touch(path: string): void {
    const seconds = this.#now() / 1000;
    utimesSync(path, seconds, seconds);
  }
}

function list(directory: string): string[] {
  return existsSync(directory) ? readdirSync(directory) : [];
}

function tooLarge(code: 'payload_too_large' | 'quota_exceeded', what: string, maximum: number): VivError {
  return new VivError(code, `${what}: at most ${maximum} bytes are kept`, { details: { maximum } });
}

function freeBytes(directory: string): number {
  const { bavail, bsize } = statfsSync(directory);
  return bavail * bsize;
}

const isFull = (thrown: unknown) => ['ENOSPC', 'EDQUOT'].includes((thrown as NodeJS.ErrnoException).code ?? '');

function diskFull(directory: string): VivError {
  return new VivError('node_disk_full', `no space left in ${directory} for an upload; nothing of it was kept`);
}
