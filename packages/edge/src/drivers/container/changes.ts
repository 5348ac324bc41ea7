import { type BigIntStats, closeSync, lstatSync, readdirSync, readlinkSync } from 'node:fs';
import { isOpaque, isWhiteout, LowerDirectory, type LowerEntry } from '@vivarium/layers/pack/lower.ts';
import { namesIn, openBelow, openUpper } from '@vivarium/layers/pack/upper-directory.ts';
import { type Change, VivError } from '@vivarium/protocol';
import { sameContent } from './content.ts';

/** Deeper trees are refused: each level holds a descriptor while it is walked. */
const DEPTH_MAX = 1_000;
const BATCH = 500;

export type ChangesParams = { upper: string; layers: string[]; idShift: number };

/**
 * Runs in the spawner: what a cell's upper directory changes of its image, in batches, sorted by path component.
 *
 * The agent may be changing that tree meanwhile, so nothing in it is reached by a path: each directory is opened
 * without following a link, and its entries are looked at through that descriptor.
 */
export async function* changes({ upper, layers, idShift }: ChangesParams): AsyncGenerator<Change[]> {
  for (const layer of layers)
    if (readdirSync(layer).length === 0) throw new VivError('internal', `the layer at ${layer} is not mounted`);
  let batch: Change[] = [];
  const fd = openUpper(upper);
  const walk = { idShift: BigInt(idShift), depth: 0, path: Buffer.alloc(0), fd, lower: LowerDirectory.root(layers) };
  for await (const change of walkDirectory(walk)) {
    batch.push(change);
    if (batch.length < BATCH) continue;
    yield batch;
    batch = [];
  }
  if (batch.length > 0) yield batch;
}

/** `fd` is the directory in the upper tree, `lower` the same in the image. */
type Walk = { idShift: bigint; depth: number; path: Buffer; fd: number; lower: LowerDirectory };

async function* walkDirectory(walk: Walk): AsyncGenerator<Change> {
  try {
    if (walk.depth > DEPTH_MAX)
      throw new VivError('file_error', `the sandbox has directories more than ${DEPTH_MAX} deep`);
    const isHiding = walk.depth > 0 && isOpaque(Buffer.from(`/proc/self/fd/${walk.fd}/.`));
    for (const name of namesIn(walk.fd, walk.lower, isHiding)) yield* compareEntry(walk, name);
  } finally {
    closeSync(walk.fd);
  }
}

async function* compareEntry(walk: Walk, name: Buffer): AsyncGenerator<Change> {
  const path = Buffer.concat([walk.path, Buffer.from('/'), name]);
  const inside = Buffer.concat([Buffer.from(`/proc/self/fd/${walk.fd}/`), name]);
  const stat = lstatSync(inside, { bigint: true, throwIfNoEntry: false });
  const lower = walk.lower.lookup(name);
  if (!stat || isWhiteout(stat)) {
    if (lower) yield change(path, 'deleted', lower.stat);
    return;
  }
  if (!lower) yield change(path, 'added', stat);
  else if (await differs(inside, stat, lower, walk.idShift)) yield change(path, 'changed', stat);
  if (!stat.isDirectory()) return;
  const fd = openBelow(inside);
  const directory = lower?.stat.isDirectory() ? lower.directory : LowerDirectory.NONE;
  if (fd !== undefined) yield* walkDirectory({ ...walk, depth: walk.depth + 1, path, fd, lower: directory });
}

/** A copy in the upper tree need not differ: opening for writing or linking makes one. Times prove nothing, bytes do. */
async function differs(inside: Buffer, stat: BigIntStats, lower: LowerEntry, idShift: bigint): Promise<boolean> {
  const { stat: before } = lower;
  if (stat.mode !== before.mode || stat.uid - idShift !== before.uid || stat.gid - idShift !== before.gid) return true;
  if (stat.isDirectory()) return false;
  if (stat.isSymbolicLink()) return !readlinkSync(inside, 'buffer').equals(readlinkSync(lower.path, 'buffer'));
  if (!stat.isFile()) return stat.rdev !== before.rdev;
  return stat.size !== before.size || stat.mtimeNs !== before.mtimeNs || !(await sameContent(inside, lower.path));
}

function change(path: Buffer, kind: Change['change'], stat: BigIntStats): Change {
  const text = path.toString();
  const exact = Buffer.from(text).equals(path);
  return {
    path: text,
    ...(exact ? {} : { pathB64: path.toString('base64') }),
    change: kind,
    type: typeOf(stat),
    sizeBytes: kind === 'deleted' || !stat.isFile() ? 0 : Number(stat.size),
  };
}

function typeOf(stat: BigIntStats): Change['type'] {
  if (stat.isFile()) return 'file';
  if (stat.isDirectory()) return 'dir';
  if (stat.isSymbolicLink()) return 'symlink';
  if (stat.isFIFO()) return 'fifo';
  if (stat.isSocket()) return 'socket';
  if (stat.isCharacterDevice()) return 'char';
  return stat.isBlockDevice() ? 'block' : 'unknown';
}
