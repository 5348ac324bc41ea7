import { isPattern } from './path-pattern.ts';
import { wildMatch } from './wild-name.ts';

/** A compiled segment of a pattern: a name as it is, a name with wildcards, or `**`. `end` stands behind a pattern's last one. */
type Segment =
  | { type: 'name'; text: string }
  | { type: 'wild'; text: string }
  | { type: 'deep' }
  | { type: 'end'; pattern: number };

/** Where in the patterns a walk is: segments that the next name may match. */
export type GlobState = readonly number[];

/** `matches`: numbers of the patterns that the path up to here matches, ascending. */
export type GlobStep = { state: GlobState; matches: readonly number[] };

const NOTHING: readonly number[] = [];
const LOST: GlobStep = { state: NOTHING, matches: NOTHING };

/**
 * Patterns of paths, matched name by name while a tree is walked: no path is put together, and no pattern can make a step slow.
 * `/a/*.log` is a path from the root, `*.log` a name at any depth (as is `a/b.log`), `**` any directories or, at the end,
 * everything below; `?` is a character, `[a-z]` one of a set, `\` takes away a meaning; `/` is everything. Names of a walk are bytes, given as
 * latin1 text.
 * What matches a directory also matches everything in it: the walk has to remember that.
 */
export class GlobSet {
  readonly start: GlobState;
  readonly #segments: Segment[] = [];
  /** Segments of patterns that name the way to them from the root, and of those that have wildcards in it. */
  readonly #named = new Set<number>();
  readonly #wild = new Set<number>();

  constructor(patterns: readonly string[]) {
    const starts: number[] = [];
    for (const [pattern, text] of patterns.entries()) starts.push(this.#compile(text, pattern));
    this.start = starts;
  }

  /** Does a path, or a directory above it, match one of the patterns? */
  matches(path: string): boolean {
    let state = this.start;
    for (const name of path.split('/')) {
      if (name === '') continue;
      const step = this.step(state, bytesOf(name));
      if (step.matches.length > 0) return true;
      state = step.state;
    }
    return false;
  }

  /** Goes on by one name. */
  step(state: GlobState, name: string): GlobStep {
    if (state.length === 0) return LOST;
    const next: number[] = [];
    const matches: number[] = [];
    const reach = (position: number) => {
      const segment = this.#segments[position]!;
      const [list, item] = segment.type === 'end' ? [matches, segment.pattern] : [next, position];
      if (!list.includes(item)) list.push(item);
    };
    for (const position of state) this.#advance(position, name, reach);
    return { state: next, matches: matches.length > 1 ? matches.sort((a, b) => a - b) : matches };
  }

  /**
   * Does the path up to here lead to one of a pattern from the root: `named` by it in all its parts, or one of those that match its
   * wildcards? What comes behind a `**` is led to by anything and does not count.
   */
  leadsOn(state: GlobState): 'named' | 'wild' | undefined {
    if (state.some((position) => this.#named.has(position))) return 'named';
    return state.some((position) => this.#wild.has(position)) ? 'wild' : undefined;
  }

  #advance(position: number, name: string, reach: (position: number) => void): void {
    const segment = this.#segments[position]!;
    if (segment.type === 'deep') {
      reach(position);
      const after = this.#segments[position + 1]!;
      if (after.type === 'end') reach(position + 1);
      else this.#advance(position + 1, name, reach);
    } else if (
      segment.type === 'name' ? segment.text === name : segment.type === 'wild' && wildMatch(segment.text, name)
    ) {
      reach(position + 1);
    }
  }

  #compile(text: string, pattern: number): number {
    const first = this.#segments.length;
    const anchored = text.startsWith('/');
    const parts = text.split('/').filter((part) => part !== '' && part !== '.');
    if (parts.length === 0 || (!anchored && parts[0] !== '**')) parts.unshift('**');
    let way: Set<number> | undefined = anchored ? this.#named : undefined;
    for (const [i, part] of parts.entries()) {
      if (part === '**' && parts[i - 1] === '**') continue;
      if (part === '**') way = undefined;
      way?.add(this.#segments.length);
      if (way && isPattern(part)) way = this.#wild;
      this.#segments.push(part === '**' ? { type: 'deep' } : segmentOf(bytesOf(part)));
    }
    this.#segments.push({ type: 'end', pattern });
    return first;
  }
}

function segmentOf(text: string): Segment {
  return isPattern(text) ? { type: 'wild', text } : { type: 'name', text };
}

/** UTF-8 with a character for each byte. No Buffer: this runs in browsers too. */
function bytesOf(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: all of ASCII
  if (/^[\x00-\x7f]*$/.test(text)) return text;
  return Array.from(new TextEncoder().encode(text), (byte) => String.fromCharCode(byte)).join('');
}
