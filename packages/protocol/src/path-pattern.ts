/**
 * Patterns over paths, matched by following all possibilities at once: time grows with pattern × text only, whatever the pattern.
 */
type Token = {
  takes(char: string): boolean;
  /** Any number of times, also none. */
  repeats: boolean;
  /** This token and the next may be left out together. */
  pairOptional: boolean;
};

export class Pattern {
  readonly #tokens: readonly Token[];

  constructor(tokens: readonly Token[]) {
    this.#tokens = tokens;
  }

  /** The whole text, nothing less. */
  matches(text: string): boolean {
    let states = this.#reach(new Set([0]));
    for (const char of text) {
      const next = new Set<number>();
      for (const state of states) {
        const token = this.#tokens[state];
        if (token?.takes(char)) next.add(token.repeats ? state : state + 1);
      }
      if (next.size === 0) return false;
      states = this.#reach(next);
    }
    return states.has(this.#tokens.length);
  }

  /** A set that is iterated while it grows visits what is added. */
  #reach(states: Set<number>): Set<number> {
    for (const state of states) {
      const token = this.#tokens[state];
      if (token?.repeats) states.add(state + 1);
      if (token?.pairOptional) states.add(state + 2);
    }
    return states;
  }
}

const one = (takes: Token['takes']): Token => ({ takes, repeats: false, pairOptional: false });
const many = (takes: Token['takes'], pairOptional = false): Token => ({ takes, repeats: true, pairOptional });
const literal = (char: string): Token => one((other) => other === char);
const anything = () => true;
const notSlash = (char: string) => char !== '/';

/** Of a shell: `*` and `?` take anything. */
export function shellPattern(pattern: string): Pattern {
  return new Pattern(
    [...pattern].map((char) => (char === '*' ? many(anything) : char === '?' ? one(anything) : literal(char))),
  );
}

/**
 * Go's filepath.Match with `**` (any number of directories) as .dockerignore has it (moby/patternmatcher). Undefined for a pattern that is
 * not well-formed (`[` without end, `\` at the end).
 */
export function pathPattern(pattern: string): Pattern | undefined {
  const chars = [...pattern];
  const tokens: Token[] = [];
  for (let at = 0; at < chars.length; at++) {
    const char = chars[at]!;
    if (char === '*' && chars[at + 1] === '*') {
      at++;
      if (chars[at + 1] === '/') at++;
      if (at + 1 === chars.length) tokens.push(many(anything));
      else tokens.push(many(anything, true), literal('/'));
    } else if (char === '*') tokens.push(many(notSlash));
    else if (char === '?') tokens.push(one(notSlash));
    else if (char === '[') {
      const set = classAt(chars, at + 1);
      if (!set) return undefined;
      tokens.push(one((other) => notSlash(other) && set.takes(other)));
      at = set.end;
    } else if (char === '\\') {
      at++;
      if (at === chars.length) return undefined;
      tokens.push(literal(chars[at]!));
    } else tokens.push(literal(char));
  }
  return new Pattern(tokens);
}

/** `[a-z]`, `[^a-z]`: from behind the bracket. */
function classAt(chars: string[], from: number): { takes(char: string): boolean; end: number } | undefined {
  let at = from;
  const negated = chars[at] === '^';
  if (negated) at++;
  const ranges: [low: string, high: string][] = [];
  const take = () => (chars[at] === '\\' ? chars[++at] : chars[at]);
  for (; chars[at] !== ']' || ranges.length === 0; at++) {
    const low = take();
    if (low === undefined) return undefined;
    let high = low;
    if (chars[at + 1] === '-' && chars[at + 2] !== ']') {
      at += 2;
      high = take() ?? '';
      if (high === '') return undefined;
    }
    ranges.push([low, high]);
  }
  return { takes: (char) => ranges.some(([low, high]) => low <= char && char <= high) !== negated, end: at };
}

/** Has it characters that make a pattern of it? */
export function isPattern(path: string): boolean {
  return /[*?[\\]/.test(path);
}
