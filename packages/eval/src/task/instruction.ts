import type { TaskWarning } from './task.ts';

/** Leading lines such as `# … canary GUID …` or `<!-- … canary … -->` are for those who train models, not for agents. */
const CANARY = /^\s*(#|<!--.*-->\s*$).*$/;

/** The text an agent gets: LF, no byte-order mark, no leading canary lines and no blank lines where they were. */
export function toInstruction(source: string, file: string, warnings: TaskWarning[]): string {
  if (source.includes('\r\n')) warnings.push({ file, field: null, message: 'has CRLF line ends; agents get LF' });
  const lines = source
    .replace(/^\uFEFF/, '')
    .replaceAll('\r\n', '\n')
    .split('\n');
  let start = 0;
  for (const [n, line] of lines.entries()) {
    if (CANARY.test(line) && /canary/i.test(line)) start = n + 1;
    else if (line.trim() !== '') break;
  }
  while (start > 0 && lines[start]?.trim() === '') start++;
  return lines.slice(start).join('\n');
}
