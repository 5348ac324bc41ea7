/**
 * Does a name match a shell pattern (`*`, `?`, `[a-z]`, `[!a]`)? As fnmatch(3) without FNM_PATHNAME: `*` also matches `/`.
 * An unclosed bracket stands for itself.
 */
export function matches(name: string, pattern: string): boolean {
  const source = pattern.replace(/\*+|\?|\[!?\]?[^\]]*\]|[\\^$.|+(){}[\]]/g, (part) => {
    if (part.startsWith('*')) return '.*';
    if (part === '?') return '.';
    if (part.length < 3) return `\\${part}`;
    const inverted = part.startsWith('[!');
    const body = part.slice(inverted ? 2 : 1, -1).replace(/[\\\]^[]/g, '\\$&');
    return body === '' ? literal(part) : `[${inverted ? '^' : ''}${body}]`;
  });
  return toExpression(source)?.test(name) ?? name === pattern;
}

function literal(text: string): string {
  return text.replace(/[\\^$.|?*+(){}[\]]/g, '\\$&');
}

/** A range such as `[z-a]` is no expression: then the pattern stands for itself. */
function toExpression(source: string): RegExp | undefined {
  try {
    return new RegExp(`^${source}$`, 's');
  } catch {
    return undefined;
  }
}
