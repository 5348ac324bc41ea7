import { type Pattern, pathPattern } from './path-pattern.ts';

type Rule = { pattern: Pattern; exception: boolean };

/** Rules of a .dockerignore file (moby/patternmatcher): a later rule wins, `!` makes an exception, what is in an ignored directory is ignored. */
export class IgnoreRules {
  readonly #rules: readonly Rule[];

  constructor(rules: readonly Rule[]) {
    this.#rules = rules;
  }

  get hasExceptions(): boolean {
    return this.#rules.some(({ exception }) => exception);
  }

  get isEmpty(): boolean {
    return this.#rules.length === 0;
  }

  /** Is a path (relative, without `./`) left out? */
  ignores(path: string): boolean {
    const parents = path.split('/').map((_, index, parts) => parts.slice(0, index + 1).join('/'));
    let ignored = false;
    for (const { pattern, exception } of this.#rules) {
      if (exception !== ignored) continue;
      if (parents.some((each) => pattern.matches(each))) ignored = !exception;
    }
    return ignored;
  }
}

/** Reads a .dockerignore. Lines that are no valid pattern are given to `onBad`. */
export function parseIgnore(text: string, onBad: (line: string) => void = () => {}): IgnoreRules {
  return ignoreRules(
    text
      .replace(/^\uFEFF/, '')
      .split(/\r?\n/)
      .filter((line) => !line.startsWith('#')),
    onBad,
  );
}

/** The same of patterns one by one (`COPY --exclude`). */
export function ignoreRules(lines: readonly string[], onBad: (line: string) => void = () => {}): IgnoreRules {
  const rules = lines.flatMap((raw): Rule[] => {
    const line = raw.trim();
    const exception = line.startsWith('!');
    const path = cleaned(exception ? line.slice(1).trim() : line);
    if (path === '') return [];
    const pattern = pathPattern(path);
    if (pattern) return [{ pattern, exception }];
    onBad(raw);
    return [];
  });
  return new IgnoreRules(rules);
}

/** filepath.Clean, without a leading slash. `.` and what climbs out match nothing. */
function cleaned(path: string): string {
  const parts: string[] = [];
  for (const part of path.split('/')) {
    if (part === '' || part === '.') continue;
    if (part === '..') parts.pop();
    else parts.push(part);
  }
  return parts.join('/');
}
