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
 * everything below; `?` is a character, `[a-z]` one of a set, `\` takes away a meaning. Names are bytes, given as latin1 text.
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
    if (!anchored && parts[0] !== '**') parts.unshift('**');
    let way: Set<number> | undefined = anchored ? this.#named : undefined;
    for (const [i, part] of parts.entries()) {
      if (part === '**' && parts[i - 1] === '**') continue;
      if (part === '**') way = undefined;
      way?.add(this.#segments.length);
      if (way && isWild(part)) way = this.#wild;
      this.#segments.push(part === '**' ? { type: 'deep' } : segmentOf(Buffer.from(part).toString('latin1')));
    }
    this.#segments.push({ type: 'end', pattern });
    return first;
  }
}

function segmentOf(text: string): Segment {
  return isWild(text) ? { type: 'wild', text } : { type: 'name', text };
}

function isWild(text: string): boolean {
  return /[*?[\\]/.test(text);
}

/** One name against one pattern, going back at most to the last `*`: never more than both lengths multiplied. */
export function wildMatch(pattern: string, name: string): boolean {
  let p = 0;
  let n = 0;
  let star = -1;
  let starName = 0;
  while (n < name.length) {
    if (pattern[p] === '*') {
      star = p++;
      starName = n;
      continue;
    }
    const one = p < pattern.length ? oneMatch(pattern, p, name, n) : undefined;
    if (one) {
      p = one.pattern;
      n = one.name;
    } else if (star >= 0) {
      p = star + 1;
      n = ++starName;
    } else return false;
  }
  while (pattern[p] === '*') p++;
  return p >= pattern.length;
}

/** Matches one character and says where both go on. */
function oneMatch(pattern: string, p: number, name: string, n: number): { pattern: number; name: number } | undefined {
  const what = pattern[p]!;
  if (what === '?') return { pattern: p + 1, name: characterEnd(name, n) };
  if (what === '[') {
    const close = pattern.indexOf(']', p + 2);
    if (close > 0)
      return inSet(pattern.slice(p + 1, close), name[n]!) ? { pattern: close + 1, name: n + 1 } : undefined;
  }
  const literal = what === '\\' && p + 1 < pattern.length ? p + 1 : p;
  return pattern[literal] === name[n] ? { pattern: literal + 1, name: n + 1 } : undefined;
}

/** A character of UTF-8 is a byte and the continuation bytes behind it. */
function characterEnd(name: string, at: number): number {
  let end = at + 1;
  while (end < name.length && (name.charCodeAt(end) & 0xc0) === 0x80) end++;
  return end;
}

function inSet(set: string, character: string): boolean {
  const negated = set[0] === '!' || set[0] === '^';
  const members = negated ? set.slice(1) : set;
  for (let i = 0; i < members.length; i++) {
    const range = members[i + 1] === '-' && i + 2 < members.length;
    const [from, to] = range ? [members[i]!, members[i + 2]!] : [members[i]!, members[i]!];
    if (character >= from && character <= to) return !negated;
    if (range) i += 2;
  }
  return negated;
}
