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
