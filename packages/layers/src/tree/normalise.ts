import { createHash, type Hash } from 'node:crypto';
import { type BigIntStats, lstatSync, lutimesSync, readdirSync, unlinkSync } from 'node:fs';
import { keptXattr } from './kept-xattr.ts';
import { getXattr, listXattrs, removeXattr, setXattr } from './xattr.ts';

export type NormaliseRequest = {
  root: string;
  /** Directories (`/tests`) that are made opaque: they hide what layers below have under their names. */
  opaque: readonly string[];
  /** Directories younger than this (ms since the epoch) were made by the unpacking, not named in the archive: their time becomes 0, so that the same archive gives the same layer. */
  impliedSinceMs?: number;
  maxEntries: number;
  maxBytes: number;
};

export type NormaliseResult = {
  entries: number;
  /** Apparent size of all files; holes count, hard links once. */
  bytes: number;
  /** From names and metadata, the same for the same tree: the file system's UUID. */
  uuid: string;
  droppedDevices: string[];
  droppedDeviceCount: number;
  /** Of `opaque`, those that are no directories of the tree. */
  opaqueMissing: string[];
};

const MAX_NAMED = 5;
/** overlayfs.rst, "whiteouts and opaque directories". */
const OPAQUE = 'trusted.overlay.opaque';

/**
 * Makes a private tree fit to become a layer, in place: only meaningful extended attributes kept, device nodes removed
 * (a layer is mounted with root's powers: a device node in it would be the host's device). Walks in byte order of names.
 * Runs in a child process: it blocks. Throws `LayerTooLarge` past a bound; errors of the file system pass.
 */
export function normaliseTree(request: NormaliseRequest): NormaliseResult {
  const walk = new Walk(request);
  walk.directory(Buffer.from(request.root), Buffer.alloc(0));
  return walk.result();
}

export class LayerTooLarge extends Error {}

class Walk {
  readonly #request: NormaliseRequest;
  readonly #seen = new Set<bigint>();
  readonly #hash: Hash = createHash('sha256');
  readonly #droppedDevices: string[] = [];
  readonly #opaque: Set<string>;
  #droppedDeviceCount = 0;
  #entries = 0;
  #bytes = 0;

  constructor(request: NormaliseRequest) {
    this.#request = request;
    this.#opaque = new Set(request.opaque.map(latin1OfPath));
  }

  result(): NormaliseResult {
    return {
      entries: this.#entries,
      bytes: this.#bytes,
      uuid: uuidFrom(this.#hash.digest()),
      droppedDevices: this.#droppedDevices,
      droppedDeviceCount: this.#droppedDeviceCount,
      opaqueMissing: [...this.#opaque].map((path) => `/${Buffer.from(path, 'latin1').toString()}`),
    };
  }

  directory(path: Buffer, relative: Buffer): void {
    const stat = lstatSync(path, { bigint: true });
    const implied = this.#request.impliedSinceMs !== undefined && stat.mtimeMs >= BigInt(this.#request.impliedSinceMs);
    this.#visit(path, relative, stat, implied ? 0n : stat.mtimeNs);
    const names = readdirSync(path, { encoding: 'buffer' }).sort(Buffer.compare);
    let changed = false;
    for (const name of names) changed = this.#child(join(path, name), join(relative, name)) || changed;
    if (this.#opaque.delete(relative.toString('latin1'))) {
      setXattr(path, OPAQUE, Buffer.from('y'));
      this.#hash.update('opaque\n');
    }
    const seconds = implied ? 0 : Number(stat.mtimeNs) / 1e9;
    if (implied || changed) lutimesSync(path, seconds, seconds);
  }

  /** Returns whether the entry was removed. */
  #child(path: Buffer, relative: Buffer): boolean {
    const stat = lstatSync(path, { bigint: true });
    if (stat.isDirectory()) {
      this.directory(path, relative);
      return false;
    }
    if (stat.isCharacterDevice() || stat.isBlockDevice()) {
      unlinkSync(path);
      this.#droppedDeviceCount++;
      if (this.#droppedDevices.length < MAX_NAMED) this.#droppedDevices.push(relative.toString('utf8'));
      return true;
    }
    this.#visit(path, relative, stat, stat.mtimeNs);
    return false;
  }

  #visit(path: Buffer, relative: Buffer, stat: BigIntStats, mtimeNs: bigint): void {
    this.#hash
      .update(relative)
      .update(`\0${stat.mode} ${stat.uid} ${stat.gid} ${stat.isDirectory() ? 0 : stat.size} ${mtimeNs}\n`);
    if (++this.#entries > this.#request.maxEntries)
      throw new LayerTooLarge(`more than ${this.#request.maxEntries} entries`);
    if (!stat.isDirectory() && stat.nlink > 1n) {
      if (this.#seen.has(stat.ino)) return;
      this.#seen.add(stat.ino);
    }
    if (stat.isFile()) this.#bytes += Number(stat.size);
    if (this.#bytes > this.#request.maxBytes)
      throw new LayerTooLarge(`more than ${this.#request.maxBytes} bytes of file data (holes count)`);
    keepXattrs(path);
  }
}

/** Only the attributes that have a meaning in a layer stay (kept-xattr.ts): overlay's own marks are nothing an image may bring along. */
function keepXattrs(path: Buffer): void {
  for (const name of listXattrs(path)) {
    const value = getXattr(path, name);
    const wanted = value && keptXattr(name, value, 0);
    if (!wanted || !value.equals(wanted)) removeXattr(path, name);
    if (wanted && !value.equals(wanted)) setXattr(path, name, wanted);
  }
}

function join(parent: Buffer, name: Buffer): Buffer {
  return parent.length === 0 ? name : Buffer.concat([parent, Buffer.from('/'), name]);
}

/** `/tests` as the walk names it: no slash at the ends, each byte a character. */
function latin1OfPath(path: string): string {
  return Buffer.from(path.replace(/^\/+|\/+$/g, '')).toString('latin1');
}

/** RFC 9562 version 8: the other 122 bits are ours. */
function uuidFrom(digest: Buffer): string {
  const bytes = Buffer.from(digest.subarray(0, 16));
  bytes[6] = (bytes[6]! & 0x0f) | 0x80;
  bytes[8] = (bytes[8]! & 0x3f) | 0x80;
  return bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}
