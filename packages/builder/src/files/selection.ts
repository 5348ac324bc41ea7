import { createHash } from 'node:crypto';
import type { IgnoreRules } from '@vivarium/protocol/ignore-rules.ts';
import { isPattern, pathPattern } from '@vivarium/protocol/path-pattern.ts';
import { baseOf, type FileNode, type FileTree, parentOf } from './tree.ts';

/** One file, directory or link that a COPY puts somewhere. */
export type Selected = {
  /** Relative to the source: '' for the source itself. */
  path: string;
  node: FileNode;
};

/** One source of a COPY, with all that is in it. */
export type Source = {
  /** Its name at the destination, when that is a directory and this is not one whose content is copied. With --parents a path. */
  name: string;
  isDirectory: boolean;
  entries: Selected[];
};

export type SelectOptions = {
  /** Paths that stay behind, relative to a source (its content, when it is a directory). */
  exclude?: IgnoreRules | undefined;
  /** Keep the directories of the sources' paths. */
  parents?: boolean;
  /** A source that is a link is not followed. */
  keepsLinks?: boolean;
};

/** Why a source can't be had; the message names it. */
export class SelectionError extends Error {
  readonly source: string;

  constructor(source: string, message: string) {
    super(message);
    this.source = source;
  }
}

/**
 * What the sources of a COPY name in a tree, as BuildKit has it: patterns by filepath.Match, links named as a source followed (within
 * the tree), links below it kept. Throws `SelectionError` for a source that is not there or leads out.
 */
export function selectSources(tree: FileTree, sources: readonly string[], options: SelectOptions = {}): Source[] {
  return sources.flatMap((source) => {
    const [before, after] = pivoted(source, options.parents ?? false);
    const wanted = cleaned(after === undefined ? before : `${before}/${after}`, source);
    const pivot = after === undefined ? '' : cleaned(before, source);
    const paths = isPattern(wanted) ? glob(tree, wanted, source) : [wanted];
    return paths.map((path) => select(tree, path, source, pivot, options));
  });
}

/** A digest of what was selected: names, types, modes, owners, contents; no times. */
export function selectionDigest(sources: readonly Source[]): string {
  const hash = createHash('sha256');
  for (const { name, isDirectory, entries } of sources) {
    hash.update(JSON.stringify([name, isDirectory, entries.length]));
    for (const { path, node } of entries)
      hash.update(JSON.stringify([path, node.type, node.mode, node.uid, node.gid, node.link, node.digest]));
  }
  return hash.digest('hex');
}

/** With --parents, `./` in the middle says from where on directories are kept. */
function pivoted(source: string, parents: boolean): [before: string, after?: string] {
  const cut = parents ? source.indexOf('/./') : -1;
  return cut < 0 ? [source] : [source.slice(0, cut), source.slice(cut + 3)];
}

function cleaned(path: string, source: string): string {
  const parts: string[] = [];
  for (const part of path.split('/')) {
    if (part === '' || part === '.') continue;
    if (part !== '..') parts.push(part);
    else if (parts.pop() === undefined) throw new SelectionError(source, `"${source}" leads out of the build context`);
  }
  return parts.join('/');
}

function select(tree: FileTree, path: string, source: string, pivot: string, options: SelectOptions): Source {
  const real = tree.resolve(path, !options.keepsLinks);
  const node = real === undefined ? undefined : tree.get(real);
  if (real === undefined || !node) throw new SelectionError(source, `"${source}" is not there`);
  const isDirectory = node.type === 'dir';
  const entries: Selected[] = [];
  const excluded = (inside: string) => options.exclude?.ignores(inside === '' ? baseOf(path) : inside) ?? false;
  const walk = (at: string, inside: string): void => {
    const current = tree.get(at)!;
    if ((inside !== '' || !isDirectory) && excluded(inside)) {
      if (current.type !== 'dir' || !options.exclude!.hasExceptions) return;
      for (const child of tree.children(at)) walk(join(at, child), join(inside, child));
      return;
    }
    entries.push({ path: inside, node: current });
    for (const child of current.type === 'dir' ? tree.children(at) : []) walk(join(at, child), join(inside, child));
  };
  walk(real, '');
  const name = options.parents ? (pivot === '' ? path : path.slice(pivot.length + 1)) : baseOf(path);
  return { name, isDirectory, entries };
}

function glob(tree: FileTree, wanted: string, source: string): string[] {
  const pattern = pathPattern(wanted);
  if (!pattern) throw new SelectionError(source, `"${source}" is no valid pattern`);
  // A pattern matches names, so links on the way to them are followed once, where the fixed part leads.
  const parts = wanted.split('/');
  const fixed = parts.slice(0, parts.findIndex(isPattern)).join('/');
  const real = tree.resolve(fixed, true);
  const candidates =
    real === undefined ? [] : below(tree, real, wanted.includes('**') ? Number.MAX_SAFE_INTEGER : parts.length);
  const found = candidates.map((path) => fixed + path.slice(real!.length)).map((path) => path.replace(/^\//, ''));
  const matched = found.filter((path) => pattern.matches(path));
  if (matched.length === 0) throw new SelectionError(source, `nothing matches "${source}"`);
  const all = new Set(matched);
  return matched.filter((path) => !hasParentIn(path, all));
}

/** With `**` a directory and what is in it both match: once is enough. */
function hasParentIn(path: string, all: ReadonlySet<string>): boolean {
  for (let parent = parentOf(path); parent !== ''; parent = parentOf(parent)) if (all.has(parent)) return true;
  return false;
}

function below(tree: FileTree, from: string, depth: number): string[] {
  if (depth === 0) return [];
  return tree.children(from).flatMap((name) => {
    const path = join(from, name);
    return [path, ...(tree.get(path)!.type === 'dir' ? below(tree, path, depth - 1) : [])];
  });
}

function join(parent: string, name: string): string {
  return parent === '' ? name : `${parent}/${name}`;
}
