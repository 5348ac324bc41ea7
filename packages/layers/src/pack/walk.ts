import { type BigIntStats, closeSync, lstatSync } from 'node:fs';
import { PACK_LEFT_OUT_MAX, type PackLeftOut } from '@vivarium/protocol/pack.ts';
import type { Inode } from '../erofs/inode.ts';
import { type ChangeNode, directoryNode, leafNode, namesOf, SPLIT, WHOLE } from './change-tree.ts';
import { isOpaque, isWhiteout, LowerDirectory, type LowerEntry } from './lower.ts';
import { Programs } from './programs.ts';
import { Budget, restoredDirectory } from './restored.ts';
import { sameContents, sameMetadata } from './same.ts';
import { namesIn, openBelow, openUpper } from './upper-directory.ts';
import { contentOf, metadataOf } from './upper-file.ts';
import { type Judged, type Lists, type Trail, Verdicts } from './verdict.ts';
import { whiteout } from './whiteout.ts';

export type WalkRequest = Lists & {
  upper: string;
  /** Where the image's layers are mounted, lowest first. */
  layers: readonly string[];
  idShift: number;
  /** Later times are set to this, in nanoseconds since the epoch; null: times are kept. */
  clampNs: bigint | null;
  maxEntries: number;
  maxDepth: number;
};

export type Walked = {
  root: ChangeNode;
  /** The upper directory; sources of files open through it. */
  close(): void;
  verdicts: Verdicts;
  changed: { added: number; changed: number; deleted: number; bytes: number };
  leftOut: PackLeftOut[];
  leftOutEntries: number;
};

/** A bound of packs that the tree exceeds. */
export class TreeTooLarge extends Error {}

const SECOND_NS = 1_000_000_000n;
/** Larger ones (of holes: no disk holds them) are refused. */
const FILE_BYTES_MAX = 2n ** 42n;

/**
 * Finds what an overlay upper directory changes of the image below, as nodes of the layers to be. The result is canonical: it says how the
 * tree looks now and not how it came about. Copies that do not differ and whiteouts of nothing are left out, opaque directories become
 * whiteouts of what they hide. Nothing is followed, and nothing reached by a path: an agent wrote that tree.
 */
export function walkChanges(request: WalkRequest): Walked {
  return new Walk(request).run();
}

/** A directory under way: `fd` in the upper tree, `lower` the same in the image. */
type Place = { fd: number; lower: LowerDirectory; node: ChangeNode; path: Buffer; trail: Trail; depth: number };
type Seen = { stat: BigIntStats; inside: Buffer; lower: LowerEntry | undefined; trail: Trail; judged: Judged };

class Walk {
  readonly #request: WalkRequest;
  readonly #verdicts: Verdicts;
  readonly #programs: Programs;
  readonly #budget: Budget;
  readonly #links = new Map<bigint, Inode>();
  readonly #changed = { added: 0, changed: 0, deleted: 0, bytes: 0 };
  readonly #leftOut: PackLeftOut[] = [];
  #leftOutEntries = 0;
  #entries = 0;
  #root = -1;

  constructor(request: WalkRequest) {
    this.#request = request;
    this.#verdicts = new Verdicts(request);
    this.#programs = new Programs(request.programs, request.layers);
    this.#budget = new Budget(request.maxEntries);
  }

  run(): Walked {
    const { upper, layers, idShift } = this.#request;
    this.#root = openUpper(upper);
    try {
      const path = Buffer.from(`/proc/self/fd/${this.#root}/.`);
      const own = metadataOf(path, lstatSync(path, { bigint: true }), idShift);
      const root = directoryNode(Buffer.alloc(0), null, { ...own, mtimeNs: this.#clamp(own.mtimeNs) }, null);
      root.images = WHOLE | SPLIT;
      const place = { lower: LowerDirectory.root(layers), node: root, path: Buffer.alloc(0), depth: 0 };
      this.#directory({ ...place, fd: this.#root, trail: this.#verdicts.start }, false);
      return {
        root,
        close: () => closeSync(this.#root),
        verdicts: this.#verdicts,
        changed: this.#changed,
        leftOut: this.#leftOut,
        leftOutEntries: this.#leftOutEntries,
      };
    } catch (error) {
      closeSync(this.#root);
      throw error;
    }
  }

  #directory(place: Place, opaque: boolean): void {
    if (place.depth > this.#request.maxDepth)
      throw new TreeTooLarge(`directories are more than ${this.#request.maxDepth} deep`);
    for (const name of namesIn(place.fd, place.lower, opaque)) this.#entry(place, name);
  }

  #entry(place: Place, name: Buffer): void {
    if (++this.#entries > this.#request.maxEntries)
      throw new TreeTooLarge(`more than ${this.#request.maxEntries} entries changed`);
    const path = Buffer.concat([place.path, Buffer.from('/'), name]);
    const inside = Buffer.concat([Buffer.from(`/proc/self/fd/${place.fd}/`), name]);
    const stat = lstatSync(inside, { bigint: true, throwIfNoEntry: false });
    const lower = place.lower.lookup(name);
    const isDeletion = !stat || isWhiteout(stat);
    if (isDeletion && !lower) return;
    const bytes = !isDeletion && stat.isFile() ? Number(stat.size) : 0;
    const judged: Judged = { path, inside, type: isDeletion ? 'deletion' : typeOf(stat), bytes };
    const trail = this.#verdicts.step(place.trail, name, judged);
    if (isDeletion) this.#deletion(place, name, { lower: lower!, trail, judged });
    else if (judged.type === 'directory') this.#subdirectory(place, name, { stat, inside, lower, trail, judged });
    else this.#leaf(place, name, { stat, inside, lower, trail, judged });
  }

  #deletion(place: Place, name: Buffer, seen: { lower: LowerEntry; trail: Trail; judged: Judged }): void {
    const { lower, trail, judged } = seen;
    if (this.#verdicts.leavesOut(trail, judged)) return;
    this.#changed.deleted++;
    const images = this.#images(trail, judged, 'deleted');
    const { node } = place;
    const restored = images & SPLIT && lower.stat.isDirectory() ? this.#restored(place, name, lower, trail) : null;
    if (restored) this.#noteLeftOut(judged.path, 'deleted');
    node.children.push(leafNode(name, node, restored ? images & ~SPLIT : images, whiteout()));
    if (restored) node.children.push(restored);
  }

  #subdirectory(place: Place, name: Buffer, { stat, inside, lower, trail, judged }: Seen): void {
    const fd = openBelow(inside);
    if (fd === undefined) return;
    try {
      const here = Buffer.from(`/proc/self/fd/${fd}/.`);
      const isMerged = lower?.stat.isDirectory() ?? false;
      const own = metadataOf(here, stat, this.#request.idShift, this.#clamp(stat.mtimeNs));
      const passing = isMerged ? metadataOf(lower!.path, lower!.stat, 0) : null;
      const node = directoryNode(name, place.node, own, passing);
      const differs = !isMerged || !sameMetadata(own, lower!) || this.#isTouched(stat, lower!);
      if (differs && !this.#verdicts.leavesOut(trail, judged)) {
        node.images = this.#images(trail, judged, lower ? 'changed' : 'added');
        this.#changed[lower ? 'changed' : 'added']++;
      }
      const below = isMerged ? lower!.directory : LowerDirectory.NONE;
      // What the image has here is no directory, and stays it: nothing can be in it.
      const isPutBack = lower !== undefined && !isMerged && !this.#verdicts.carries(trail, 'changed');
      const innerTrail = isPutBack ? { ...trail, protected: true } : trail;
      const inner = { fd, lower: below, node, path: judged.path, trail: innerTrail, depth: place.depth + 1 };
      this.#directory(inner, isMerged && isOpaque(here));
      if (node.children.length === 0 && node.images === 0) return;
      if (node.children.length > 0 && isMerged) node.passing = { ...passing!, mtimeNs: own.mtimeNs };
      place.node.children.push(node);
    } finally {
      closeSync(fd);
    }
  }

  #leaf(place: Place, name: Buffer, seen: Seen): void {
    const { stat, lower, trail, judged } = seen;
    const isLinked = stat.nlink > 1n;
    const inode = (isLinked && this.#links.get(stat.ino)) || this.#inode(place.node, name, seen);
    if (!isLinked && isSame(inode, seen)) return;
    if (this.#verdicts.leavesOut(trail, judged)) return;
    const change = lower ? 'changed' : 'added';
    this.#changed[change]++;
    if (!this.#links.has(stat.ino)) this.#changed.bytes += judged.bytes;
    if (isLinked) this.#links.set(stat.ino, inode);
    let images = this.#images(trail, judged, change);
    const isHiding = change === 'added' && !trail.excepted && this.#programs.isHiding(judged.path);
    if (images & SPLIT && (isHiding || this.#isInTheWay(place, name, seen))) {
      images &= ~SPLIT;
      this.#noteLeftOut(judged.path, change);
    }
    place.node.children.push(leafNode(name, place.node, images, inode));
  }

  #inode(parent: ChangeNode, name: Buffer, { stat, inside, lower }: Seen): Inode {
    if (stat.size > FILE_BYTES_MAX) throw new TreeTooLarge(`a file of ${stat.size} bytes`);
    const metadata = metadataOf(inside, stat, this.#request.idShift, this.#leafTime(stat, lower));
    const names = () => [...namesOf(parent), name];
    return { ...metadata, content: contentOf(this.#root, names, inside, stat) };
  }

  /**
   * A changed file whose time was set back to what the image's file has (in seconds, as Python and others compare) would pass for
   * unchanged: it is a second younger.
   */
  #leafTime(stat: BigIntStats, lower: LowerEntry | undefined): bigint {
    const time = this.#clamp(stat.mtimeNs);
    if (time === stat.mtimeNs || !lower?.stat.isFile() || !stat.isFile()) return time;
    const before = lower.stat.mtimeNs / SECOND_NS;
    return time / SECOND_NS > before ? time : (before + 1n) * SECOND_NS;
  }

  /** Images that a change is in. */
  #images(trail: Trail, { path }: Judged, change: PackLeftOut['change']): number {
    if (this.#verdicts.carries(trail, change)) return WHOLE | SPLIT;
    this.#noteLeftOut(path, change);
    return WHOLE;
  }

  /**
   * Stands it where protected paths lie below? Then the split image has there what the image has: in a directory of the image that became
   * something else, and behind a link that leads such a path, or a closed one, elsewhere.
   */
  #isInTheWay(place: Place, name: Buffer, { stat, lower, trail }: Seen): boolean {
    const leads = this.#verdicts.protect.leadsOn(trail.protect);
    if (leads === 'named' || (leads === 'wild' && (stat.isSymbolicLink() || lower?.stat.isDirectory()))) return true;
    const { closed } = this.#verdicts;
    if (!trail.excepted && stat.isSymbolicLink() && closed.leadsOn(trail.closed)) return true;
    return lower?.stat.isDirectory() === true && this.#restored(place, name, lower, trail) !== null;
  }

  #restored(place: Place, name: Buffer, lower: LowerEntry, trail: Trail): ChangeNode | null {
    const { protect, restore } = this.#verdicts;
    const patterns = [
      { set: protect, state: trail.protect },
      { set: restore, state: trail.excepted ? [] : trail.restore },
    ].filter(({ state }) => state.length > 0);
    if (patterns.length === 0) return null;
    return restoredDirectory(name, place.node, lower, patterns, this.#budget);
  }

  #noteLeftOut(path: Buffer, change: PackLeftOut['change']): void {
    this.#leftOutEntries++;
    if (this.#leftOut.length < PACK_LEFT_OUT_MAX) this.#leftOut.push({ path: path.toString('utf8'), change });
  }

  #clamp(timeNs: bigint): bigint {
    const { clampNs } = this.#request;
    return clampNs !== null && timeNs > clampNs ? clampNs : timeNs;
  }

  /** Kept times include those of directories. */
  #isTouched(stat: BigIntStats, lower: LowerEntry): boolean {
    return this.#request.clampNs === null && stat.mtimeNs !== lower.stat.mtimeNs;
  }
}

/** Is the copy in the upper directory what the image has? Opening a file for writing makes one. */
function isSame(inode: Inode, { stat, inside, lower }: Seen): boolean {
  if (!lower || lower.stat.isDirectory() || inode.mtimeNs !== lower.stat.mtimeNs) return false;
  return sameMetadata(inode, lower) && sameContents(inside, stat, lower);
}

function typeOf(stat: BigIntStats): Judged['type'] {
  if (stat.isFile()) return 'file';
  if (stat.isDirectory()) return 'directory';
  if (stat.isSocket()) return 'socket';
  return stat.isCharacterDevice() || stat.isBlockDevice() ? 'device' : 'other';
}
