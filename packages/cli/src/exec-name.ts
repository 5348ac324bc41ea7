import type { Exec } from '@vivarium/sdk';
import { bad } from './complaint.ts';

/** A command by its id or the unique beginning of it. */
export function pickExec(execs: readonly Exec[], word: string): Exec {
  const fitting = execs.filter((exec) => exec.id.startsWith(word));
  if (fitting.length === 1) return fitting[0]!;
  if (fitting.length > 1) throw bad(`\`${word}\` fits ${fitting.length} commands`, 'Give more of the id.');
  throw bad(`no command’s id begins with \`${word}\``, '`viv attach SANDBOX` lists them.', 'exec_not_found');
}
