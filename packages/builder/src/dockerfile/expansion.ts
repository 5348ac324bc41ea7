import { shellPattern } from '@vivarium/protocol/path-pattern.ts';

/** Looks a variable up; undefined: not set. */
export type Lookup = (name: string) => string | undefined;

/** Thrown for a word that can't be read; whoever knows the line adds it. */
export class ExpansionError extends Error {}

/**
 * Expands one word as BuildKit's shell lexer does: `$X`, `${X}`, `${X:-d}`, `${X-d}`, `${X:+d}`, `${X+d}`, `${X:?e}`, `${X?e}`,
 * `${X#p}`, `${X##p}`, `${X%p}`, `${X%%p}`, `${X/p/r}`, `${X//p/r}`. Quotes and escapes are taken off; nothing is expanded in
 * single quotes.
 */
export function expandWord(word: string, lookup: Lookup, escapeChar: string): string {
  return new Expansion(word, lookup, escapeChar, false).all();
}

/** The same for the content of a here-document: quotes are ordinary characters. */
export function expandText(text: string, lookup: Lookup, escapeChar: string): string {
  return new Expansion(text, lookup, escapeChar, true).all();
}

class Expansion {
  readonly #text: string;
  readonly #lookup: Lookup;
  readonly #escape: string;
  readonly #quotesAreText: boolean;
  #at = 0;
  #depth = 0;

  constructor(text: string, lookup: Lookup, escapeChar: string, quotesAreText: boolean) {
    this.#text = text;
    this.#lookup = lookup;
    this.#escape = escapeChar;
    this.#quotesAreText = quotesAreText;
  }

  all(): string {
    return this.#until(null);
  }

  /** Up to the stop character, which is taken too. */
  #until(stop: string | null): string {
    let result = '';
    while (this.#at < this.#text.length) {
      const char = this.#text[this.#at]!;
      if (char === stop) {
        this.#at++;
        return result;
      }
      if (char === "'" && !this.#quotesAreText) result += this.#single();
      else if (char === '"' && !this.#quotesAreText) result += this.#double();
      else if (char === '$') result += this.#dollar();
      else if (char === this.#escape) result += this.#escaped();
      else {
        result += char;
        this.#at++;
      }
    }
    if (stop !== null) throw new ExpansionError(`${this.#text}: no "${stop}" to end what was begun`);
    return result;
  }

  #escaped(): string {
    const next = this.#text[this.#at + 1];
    this.#at += 2;
    if (next === undefined) return this.#quotesAreText ? this.#escape : '';
    if (this.#quotesAreText && next !== '$' && next !== this.#escape) return this.#escape + next;
    return next;
  }

  #single(): string {
    const end = this.#text.indexOf("'", this.#at + 1);
    if (end < 0) throw new ExpansionError(`${this.#text}: a single quote is not closed`);
    const result = this.#text.slice(this.#at + 1, end);
    this.#at = end + 1;
    return result;
  }

  #double(): string {
    let result = '';
    this.#at++;
    while (this.#at < this.#text.length) {
      const char = this.#text[this.#at]!;
      if (char === '"') {
        this.#at++;
        return result;
      }
      if (char === '$') result += this.#dollar();
      else if (char === this.#escape && /["$]/.test(this.#text[this.#at + 1] ?? '')) result += this.#escaped();
      else if (char === this.#escape && this.#text[this.#at + 1] === this.#escape) result += this.#escaped();
      else {
        result += char;
        this.#at++;
      }
    }
    throw new ExpansionError(`${this.#text}: a double quote is not closed`);
  }

  #dollar(): string {
    this.#at++;
    if (this.#text[this.#at] !== '{') {
      const name = this.#name();
      return name === '' ? '$' : (this.#lookup(name) ?? '');
    }
    this.#at++;
    const name = this.#name();
    if (name === '') throw new ExpansionError(`${this.#text}: \${…} without a name`);
    if (this.#text[this.#at] === '}') {
      this.#at++;
      return this.#lookup(name) ?? '';
    }
    return this.#modified(name);
  }

  /** A name, one digit, or one of the shell's special parameters. */
  #name(): string {
    const match = /^([A-Za-z_][A-Za-z0-9_]*|[0-9@*#?!-])/.exec(this.#text.slice(this.#at, this.#at + 256));
    const name = match?.[0] ?? '';
    this.#at += name.length;
    return name;
  }

  #modified(name: string): string {
    const rest = this.#text.slice(this.#at);
    const operator = /^(:[-+?]|[-+?]|##?|%%?|\/\/?)/.exec(rest)?.[0];
    if (operator === undefined)
      throw new ExpansionError(`${this.#text}: unknown modifier in \${${name}${rest[0] ?? ''}…}`);
    this.#at += operator.length;
    if (++this.#depth > NESTED_MAX) throw new ExpansionError(`variables are nested more than ${NESTED_MAX} deep`);
    const result = this.#applied(operator, name);
    this.#depth--;
    return result;
  }

  #applied(operator: string, name: string): string {
    const value = this.#lookup(name);
    if (operator.startsWith('/')) {
      const pattern = this.#until('/');
      return replaced(value ?? '', pattern, this.#until('}'), operator === '//');
    }
    const word = this.#until('}');
    const isSet = value !== undefined && !(operator.startsWith(':') && value === '');
    switch (operator.at(-1)) {
      case '-':
        return isSet ? value : word;
      case '+':
        return isSet ? word : '';
      case '?':
        if (!isSet) throw new ExpansionError(`${name}: ${word || 'it is not set'}`);
        return value;
      default:
        return trimmed(value ?? '', operator, word);
    }
  }
}

/** Shortest (`#`, `%`) or longest (`##`, `%%`) match of the pattern taken off the beginning or the end. */
function trimmed(value: string, operator: string, glob: string): string {
  const pattern = shellPattern(bounded(glob));
  const fromStart = operator.startsWith('#');
  const lengths = Array.from({ length: bounded(value).length + 1 }, (_, length) => length);
  if (operator.length === 2) lengths.reverse();
  for (const length of lengths) {
    const part = fromStart ? value.slice(0, length) : value.slice(value.length - length);
    if (pattern.matches(part)) return fromStart ? value.slice(length) : value.slice(0, value.length - length);
  }
  return value;
}

/** The longest match at the first place that has one, or at each. */
function replaced(value: string, glob: string, replacement: string, all: boolean): string {
  const pattern = shellPattern(bounded(glob));
  let result = '';
  let at = 0;
  while (at < bounded(value).length) {
    let end = value.length;
    while (end > at && !pattern.matches(value.slice(at, end))) end--;
    if (end > at) {
      result += replacement;
      at = end;
      if (!all) break;
    } else result += value[at++];
  }
  return result + value.slice(at);
}

const NESTED_MAX = 100;
/** Matching every part of a text takes time: no Dockerfile needs more. */
const MATCHED_MAX = 256;

function bounded(text: string): string {
  if (text.length <= MATCHED_MAX) return text;
  throw new ExpansionError(`patterns are matched with at most ${MATCHED_MAX} characters`);
}
