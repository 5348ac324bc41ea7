/** A command in a script that fetches software or data. `line` is 1-based. */
export type Install = { line: number; tool: string; text: string };

/** What stands before a command: a line's start, an operator, or a word that runs what follows. */
const START = String.raw`(?:^|[;&|(]|\b(?:sudo|then|do|else|exec|env|time|xargs|if|!)\s)\s*(?:[A-Za-z_]\w*=\S*\s+|-\S+\s+)*`;
const TOOLS: readonly { tool: string; pattern: RegExp }[] = [
  { tool: 'apt', pattern: command(String.raw`(?:apt|apt-get|aptitude)\s+(?:-\S+\s+)*(?:install|update|upgrade)\b`) },
  { tool: 'apk', pattern: command(String.raw`apk\s+(?:-\S+\s+)*add\b`) },
  { tool: 'dnf', pattern: command(String.raw`(?:dnf|yum|zypper|microdnf)\s+(?:-\S+\s+)*(?:install|in)\b`) },
  {
    tool: 'pip',
    pattern: command(
      String.raw`(?:\S*/)?(?:pip3?|python[\d.]*\s+-m\s+pip|uv\s+pip|pipx)\s+(?:-\S+\s+)*(?:install|download)\b`,
    ),
  },
  {
    tool: 'uv',
    pattern: command(
      String.raw`(?:\S*/)?(?:uvx|uv\s+(?:add|sync|run|tool|python|venv)|poetry\s+install|conda\s+install)\b`,
    ),
  },
  { tool: 'npm', pattern: command(String.raw`(?:npm\s+(?:i|install|ci)|npx|(?:pnpm|yarn)\s+(?:add|install|dlx))\b`) },
  { tool: 'gem', pattern: command(String.raw`(?:gem|bundle)\s+install\b`) },
  { tool: 'cargo', pattern: command(String.raw`cargo\s+(?:install|fetch|add)\b`) },
  { tool: 'go', pattern: command(String.raw`go\s+(?:get|install|mod\s+download)\b`) },
  { tool: 'curl', pattern: command(String.raw`(?:curl|wget)\s`) },
  { tool: 'git', pattern: command(String.raw`git\s+(?:-\S+\s+)*(?:clone|fetch|pull)\b`) },
];
/** Offline ways of the same tools, and services of the sandbox itself. */
const HARMLESS =
  /--no-index|--offline|\b(localhost|127\.0\.0\.1|0\.0\.0\.0|\[::1\])(?![\w.])|\$\{?(HOST|URL|BASE|SERVER)/i;

/** Of a line: a hostile one must not keep the expressions busy. */
const LOOKED_AT = 2000;

/**
 * Commands of a shell script that install or fetch something: such a verifier needs a network that it does not have, takes
 * long, and gives another answer next year. By text, so neither complete nor certain.
 */
export function findInstalls(script: string): Install[] {
  return logicalLines(script).flatMap(({ line, text: whole }) => {
    const text = whole.slice(0, LOOKED_AT);
    const found = HARMLESS.test(text) ? undefined : TOOLS.find(({ pattern }) => pattern.test(text));
    return found === undefined ? [] : [{ line, tool: found.tool, text: text.trim().slice(0, 200) }];
  });
}

function command(words: string): RegExp {
  return new RegExp(START + words);
}

/** Lines with `\` at the end joined, comments left out. */
function logicalLines(script: string): { line: number; text: string }[] {
  const lines: { line: number; text: string }[] = [];
  let open: { line: number; text: string } | undefined;
  for (const [index, raw] of script.split('\n').entries()) {
    const text = raw.replace(/\r$/, '').replace(/(^|\s)#.*$/, '$1');
    const continues = text.endsWith('\\');
    const part = continues ? text.slice(0, -1) : text;
    open =
      open === undefined ? { line: index + 1, text: part } : { line: open.line, text: `${open.text} ${part.trim()}` };
    if (continues) continue;
    lines.push(open);
    open = undefined;
  }
  return open === undefined ? lines : [...lines, open];
}
