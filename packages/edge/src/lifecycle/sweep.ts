import type { Box } from './box.ts';

/** Ends what runs in a sandbox, orphans of ended commands too; commands with one of the labels run on. Returns how many processes ended. */
export function sweepBox(box: Box, keepLabels: readonly string[]): Promise<number> {
  return box.exclusive(async () => {
    box.requireCell();
    const execs = [...box.execs.values()];
    const isKept = (label: string | null) => label !== null && keepLabels.includes(label);
    const keep = execs.filter((exec) => isKept(exec.asked.label)).map(({ id }) => id);
    await Promise.all(execs.filter(({ id }) => !keep.includes(id)).map((exec) => exec.end('canceled')));
    const ended = await box.handle!.endProcesses(keep);
    if (ended > 0) box.note('state', { swept: ended, keptExecs: keep });
    return ended;
  });
}
