import { readFileSync } from 'node:fs';

/** Mount points of one file system type in this process's mount namespace (proc_pid_mountinfo(5)). */
export function mountPoints(type: string, text = readFileSync('/proc/self/mountinfo', 'latin1')): Set<string> {
  const points = new Set<string>();
  for (const line of text.split('\n')) {
    const [before, after] = line.split(' - ');
    const point = before?.split(' ')[4];
    if (point !== undefined && after?.split(' ')[0] === type) points.add(unescapeOctal(point));
  }
  return points;
}

/** The kernel writes space, tab, newline and backslash as \ooo. */
function unescapeOctal(text: string): string {
  const bytes = text.replace(/\\([0-7]{3})/g, (_, octal) => String.fromCharCode(Number.parseInt(octal, 8)));
  return Buffer.from(bytes, 'latin1').toString('utf8');
}
