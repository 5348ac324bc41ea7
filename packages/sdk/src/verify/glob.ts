/**
 * Does a path match one of the patterns? As in a pack request: `/a/*.log` is a path from the root, `*.log` a name at any depth, `**` any
 * directories, `?` one character; what matches a directory matches all in it.
 */
export function matchesAny(patterns: readonly string[], path: string): boolean {
  return patterns.some((pattern) => compiled(pattern).test(path));
}

const KEPT_MAX = 1000;
const cache = new Map<string, RegExp>();

function compiled(pattern: string): RegExp {
  const known = cache.get(pattern);
  if (known) return known;
  if (cache.size >= KEPT_MAX) cache.clear();
  const made = new RegExp(`^${expression(pattern)}(/.*)?$`, 's');
  cache.set(pattern, made);
  return made;
}

function expression(pattern: string): string {
  const whole = pattern.startsWith('/') ? pattern : `/**/${pattern}`;
  const steps = whole.split('/').filter((step) => step !== '');
  return steps
    .map((step) => (step === '**' ? '(?:/[^/]+)*' : `/${step.replace(/[\\^$.|?*+()[\]{}]/g, inStep)}`))
    .join('');
}

function inStep(character: string): string {
  if (character === '*') return '[^/]*';
  return character === '?' ? '[^/]' : `\\${character}`;
}
