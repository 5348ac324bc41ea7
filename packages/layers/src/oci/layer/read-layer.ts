import type { Inode, Xattr } from '../../erofs/inode.ts';
import type { Metadata } from '../../pack/change-tree.ts';
import { LowerDirectory } from '../../pack/lower.ts';
import { keptXattr } from '../../tree/kept-xattr.ts';
import type { RangeReader } from '../file-range.ts';
import { Refusal } from '../refusal.ts';
import { type Member, readMembers } from '../tar/members.ts';
import { isDirectory, LayerTree } from './layer-tree.ts';
import { PathFinder, splitPath } from './path-finder.ts';
import { copyOfLower, fileContent } from './tar-file.ts';

export type LayerBounds = { maxEntries: number; maxBytes: number; maxDepth: number; maxMetadataBytes: number };

/** What was left out or changed on the way. */
export type LayerNotes = { devices: number; owners: number; xattrs: number; firstDevice: string | null };

export type ReadLayer = {
  /** Null: the layer changes nothing. */
  root: Inode | null;
  usesLower: boolean;
  entries: number;
  notes: LayerNotes;
};

const TYPE_BITS: Record<string, number> = { '0': 0o100000, '2': 0o120000, '5': 0o040000, '6': 0o010000 };
/** The format of whiteouts (OCI image-spec, layer.md). Other names with this beginning are bookkeeping of AUFS. */
const WHITEOUT = '.wh.';
const OPAQUE = '.wh..wh..opq';
const AUFS = '.wh..wh.';
const IDS = 65_536;
const NOBODY = 65_534;
/** erofs_fs.h: an attribute's name behind its prefix has at most 255 bytes, its value 65,535. */
const XATTR_NAME_MAX = 255;
const XATTR_VALUE_MAX = 65_535;
const TARGET_MAX = 4095;

/**
 * Reads a layer's archive (OCI image-spec, layer.md) into a tree without unpacking it anywhere: no name in it can reach a file of the
 * node. Symbolic links on the way to a member are followed within the image. The last member of a name wins. Blocks. Throws Refusal.
 * `layers`: where the ones below are mounted, lowest first.
 */
export function readLayer(reader: RangeReader, layers: readonly string[], bounds: LayerBounds): ReadLayer {
  return new LayerReading(reader, layers, bounds).run();
}

class LayerReading {
  readonly #reader: RangeReader;
  readonly #bounds: LayerBounds;
  readonly #tree: LayerTree;
  readonly #paths: PathFinder;
  readonly #notes: LayerNotes = { devices: 0, owners: 0, xattrs: 0, firstDevice: null };
  #entries = 0;
  #bytes = 0;
  #metadataBytes = 0;

  constructor(reader: RangeReader, layers: readonly string[], bounds: LayerBounds) {
    this.#reader = reader;
    this.#bounds = bounds;
    this.#tree = new LayerTree(LowerDirectory.root(layers));
    this.#paths = new PathFinder(this.#tree, bounds.maxDepth, () => this.#count());
  }

  run(): ReadLayer {
    for (const member of readMembers(this.#reader)) this.#take(member);
    const { root } = this.#tree;
    const isEmpty = root.children.size === 0 && root.deleted.size === 0 && !root.opaque;
    const inode = isEmpty ? null : this.#tree.finish();
    return { root: inode, usesLower: this.#tree.usesLower, entries: this.#entries, notes: this.#notes };
  }

  #take(member: Member): void {
    this.#count();
    this.#weigh(member);
    const names = splitPath(member.name, 'entry');
    const name = names.pop();
    if (name === undefined) {
      if (member.type === '5') this.#tree.root.own = this.#metadata(member);
      return;
    }
    if (names.some((each) => each.startsWith(WHITEOUT)) || (name.startsWith(AUFS) && name !== OPAQUE)) return;
    if (name.startsWith(WHITEOUT)) return this.#delete(names, name);
    if (member.type === '3' || member.type === '4') return this.#leaveOut(member);
    if (TYPE_BITS[member.type] === undefined && member.type !== '1')
      throw refused(member, `is of a type that no layer can have ('${member.type}')`);
    const inode = member.type === '1' ? this.#linked(member) : null;
    const parent = this.#paths.make(names);
    if (member.type === '5') this.#tree.directory(parent, name).own = this.#metadata(member);
    else parent.children.set(name, inode ?? this.#leaf(member));
  }

  #delete(names: string[], name: string): void {
    if (name === OPAQUE) {
      this.#paths.make(names).opaque = true;
      return;
    }
    const target = name.slice(WHITEOUT.length);
    if (target === '' || target === '.' || target === '..')
      throw new Refusal('path_escapes', `the layer deletes '${target}', which is no name in a directory`);
    this.#paths.make(names).deleted.add(target);
  }

  #leaf(member: Member): Inode {
    const metadata = this.#metadata(member);
    if (member.type === '6') return { ...metadata, content: { type: 'special' } };
    if (member.type === '2') {
      if (member.link.length === 0 || member.link.length > TARGET_MAX || member.link.includes(0))
        throw refused(member, 'is a symbolic link without a usable target');
      return { ...metadata, mode: 0o120777, content: { type: 'symlink', target: member.link } };
    }
    this.#bytes += member.size;
    if (this.#bytes > this.#bounds.maxBytes)
      throw new Refusal(
        'invalid_image',
        `the layer has more than ${this.#bounds.maxBytes} bytes of file data (holes count)`,
      );
    return { ...metadata, content: fileContent(this.#reader, member.size, member.segments) };
  }

  #linked(member: Member): Inode {
    const names = splitPath(member.link, 'hard link');
    const name = names.pop();
    if (name === undefined) throw refused(member, 'is a hard link to the root directory');
    const parent = this.#paths.find(names);
    const there = parent?.node?.children.get(name);
    if (there && !isDirectory(there)) return there;
    const lower = there || !parent ? undefined : parent.lookupLower(name);
    if (lower && !lower.stat.isDirectory()) return copyOfLower(lower);
    const target = member.link.toString('utf8').slice(0, 200);
    throw refused(
      member,
      `is a hard link to ${there || lower ? `the directory ${target}` : `${target}, which is not there`}`,
    );
  }

  #metadata(member: Member): Metadata {
    const [uid, gid] = [this.#owner(member.uid), this.#owner(member.gid)];
    if (uid !== member.uid || gid !== member.gid) this.#notes.owners++;
    const mode = TYPE_BITS[member.type]! | member.mode;
    return { mode, uid, gid, mtimeNs: member.mtimeNs, xattrs: this.#xattrs(member) };
  }

  #owner(id: number): number {
    return id >= 0 && id < IDS ? id : NOBODY;
  }

  #xattrs(member: Member): Xattr[] {
    const kept = new Map<string, Xattr>();
    for (const { name, value } of member.xattrs) {
      const fits = name.length <= XATTR_NAME_MAX && !name.includes('\0') && value.length <= XATTR_VALUE_MAX;
      const wanted = fits ? keptXattr(name, value, 0) : null;
      if (wanted) kept.set(name, { name, value: wanted });
      else this.#notes.xattrs++;
    }
    return [...kept.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
  }

  #leaveOut(member: Member): void {
    this.#notes.devices++;
    this.#notes.firstDevice ??= member.name.toString('utf8').slice(0, 200);
  }

  #count(): void {
    if (++this.#entries > this.#bounds.maxEntries)
      throw new Refusal('invalid_image', `the layer has more than ${this.#bounds.maxEntries} entries`);
  }

  /** Names and attributes are held in memory until the layer is written. */
  #weigh({ name, link, xattrs, segments }: Member): void {
    this.#metadataBytes += name.length + link.length + 100 * segments.length;
    for (const { name: key, value } of xattrs) this.#metadataBytes += key.length + value.length;
    if (this.#metadataBytes > this.#bounds.maxMetadataBytes)
      throw new Refusal(
        'invalid_image',
        `names and attributes of the layer take more than ${this.#bounds.maxMetadataBytes} bytes`,
      );
  }
}

function refused(member: Member, what: string): Refusal {
  return new Refusal('invalid_image', `the layer's entry ${member.name.toString('utf8').slice(0, 200)} ${what}`);
}
