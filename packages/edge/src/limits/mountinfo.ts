/** One line of /proc/self/mountinfo (proc_pid_mountinfo(5)). */
export type MountInfo = { root: string; target: string; type: string; source: string; superOptions: string[] };

/** Parses mountinfo; octal escapes in paths are undone. */
export function parseMountInfo(text: string): MountInfo[] {
  const mounts: MountInfo[] = [];
  for (const line of text.split('\n')) {
    const [before, after] = line.split(' - ');
    if (before === undefined || after === undefined) continue;
    const [, , , root = '', target = ''] = before.split(' ');
    const [type = '', source = '', superOptions = ''] = after.split(' ');
    mounts.push({
      root: unescapePath(root),
      target: unescapePath(target),
      type,
      source,
      superOptions: superOptions.split(','),
    });
  }
  return mounts;
}

function unescapePath(path: string): string {
  return path.replace(/\\([0-7]{3})/g, (_all, octal: string) => String.fromCharCode(Number.parseInt(octal, 8)));
}
