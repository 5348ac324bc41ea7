import { VivError } from '@vivarium/protocol';
import { GlobSet, type GlobState } from '@vivarium/protocol/glob-set.ts';
import type { CellEntry } from '../cell/entry.ts';
import type { FnCall, FnResult } from '../edge.ts';
import type { Box } from '../lifecycle/box.ts';
import { pathIn } from './files-in.ts';

/** Entries that are looked at for patterns, in all. */
const WALK_MAX = 20_000;
const WILD = /[*?[\\]/;

type Found = Pick<FnResult, 'files' | 'filesLeft'>;

/** Brings back what the call asked for, read inside as its user, within its bounds. */
export async function takeFiles(box: Box, call: FnCall): Promise<Found> {
  const found: Found = { files: [], filesLeft: [] };
  const user = call.user ?? box.row.user ?? undefined;
  let leftBytes = call.filesOutBytesMax;
  let refused = 0;
  let readBytes = 0;
  for (const path of await pathsOut(box, call, user, found)) {
    if (found.files.length >= call.filesOutMax) {
      found.filesLeft.push({ path, reason: `more than ${call.filesOutMax} files` });
      continue;
    }
    // Also what is refused costs the node its reading.
    if (refused >= call.filesOutMax || readBytes > 2 * call.filesOutBytesMax) {
      found.filesLeft.push({ path, reason: 'too many files before it were too large' });
      continue;
    }
    try {
      const { entry, stream } = await box.requireCell().read(Buffer.from(path), { user, length: leftBytes + 1 });
      const large = entry.size > leftBytes;
      if (large) stream.destroy();
      // It may have grown since it was opened.
      const content = large ? Buffer.alloc(0) : Buffer.concat(await stream.toArray());
      readBytes += content.length;
      if (large || content.length > leftBytes) {
        refused += 1;
        found.filesLeft.push({ path, reason: `larger than what is left of ${call.filesOutBytesMax} bytes` });
        continue;
      }
      leftBytes -= content.length;
      found.files.push({ path, content, mode: entry.mode & 0o7777 });
    } catch (thrown) {
      const error = VivError.from(thrown);
      if (error.fault === 'infra') throw error;
      found.filesLeft.push({ path, reason: error.code === 'path_not_found' ? 'not_found' : error.message });
    }
  }
  return found;
}

/** Names as they are, then what the patterns match, each once. */
async function pathsOut(box: Box, call: FnCall, user: string | undefined, found: Found): Promise<string[]> {
  const asked = call.filesOut.map((path) => pathIn(call, path));
  const patterns = asked.filter((path) => WILD.test(path));
  const paths = new Set(asked.filter((path) => !WILD.test(path)));
  let looked = 0;
  for (const root of new Set(patterns.map(rootOf))) {
    const set = new GlobSet(patterns.filter((pattern) => rootOf(pattern) === root));
    try {
      for await (const path of matches(box, root, set, user)) {
        if (path !== null) paths.add(path);
        if (++looked >= WALK_MAX) break;
      }
    } catch (thrown) {
      const error = VivError.from(thrown);
      if (error.fault === 'infra') throw error;
      found.filesLeft.push({ path: root, reason: error.code === 'path_not_found' ? 'not_found' : error.message });
    }
    if (looked < WALK_MAX) continue;
    found.filesLeft.push({ path: root, reason: `more than ${WALK_MAX} entries to look at` });
    break;
  }
  return [...paths];
}

/** The directory that a pattern names before its first wildcard. */
function rootOf(pattern: string): string {
  const parts = pattern.split('/');
  const wild = parts.findIndex((part) => WILD.test(part));
  return parts.slice(0, wild).join('/') || '/';
}

/** Regular files that match; null for an entry that does not. */
async function* matches(box: Box, root: string, set: GlobSet, user: string | undefined): AsyncGenerator<string | null> {
  const base = root === '/' ? '' : root;
  const below = new Map<string, GlobState>();
  let state = set.start;
  for (const name of Buffer.from(base)
    .toString('latin1')
    .split('/')
    .filter((part) => part !== ''))
    state = set.step(state, name).state;
  below.set('', state);
  for await (const entry of box.requireCell().list(Buffer.from(root), { user, depth: 0 })) {
    yield match(entry, base, set, below);
  }
}

function match(entry: CellEntry, base: string, set: GlobSet, below: Map<string, GlobState>): string | null {
  const name = Buffer.from(entry.name).toString('latin1');
  const cut = name.lastIndexOf('/');
  const state = below.get(cut < 0 ? '' : name.slice(0, cut));
  if (!state) return null;
  const step = set.step(state, name.slice(cut + 1));
  if (entry.type === 'dir') below.set(name, step.state);
  if (entry.type !== 'file' || step.matches.length === 0) return null;
  return `${base}/${Buffer.from(entry.name).toString()}`;
}
