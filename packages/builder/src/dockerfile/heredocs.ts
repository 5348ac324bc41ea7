import type { Heredoc } from './instruction.ts';
import { shellWords } from './words.ts';

/** `<<NAME`, `<<-NAME`, `<<"NAME"`, `0<<NAME`, as a word of its own. */
const HEREDOC = /^(\d*)<<(-?)([^<]*)$/;

/** The here-documents that a line begins, without their content. Words inside quotes, `<<<` and `$((1<<2))` are none. */
export function findHeredocs(line: string, escapeChar: string): Heredoc[] {
  if (line.startsWith('[')) return [];
  return shellWords(line, escapeChar).flatMap((word) => heredocOf(word, escapeChar) ?? []);
}

/** The here-document a word begins, or null. */
export function heredocOf(word: string, escapeChar: string): Heredoc | null {
  const match = HEREDOC.exec(word);
  if (!match || match[3] === '') return null;
  const raw = match[3]!;
  const name = raw.replace(/["']/g, '').replaceAll(escapeChar, '');
  if (name === '' || /[|&;()]/.test(name)) return null;
  return { name, expand: raw === name, chomp: match[2] === '-', content: '' };
}
