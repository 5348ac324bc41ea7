import { nearest } from '@vivarium/protocol/nearest.ts';
import { invalid } from './complaint.ts';
import { findHeredocs } from './heredocs.ts';
import type { Dockerfile, Flag, Heredoc, Instruction } from './instruction.ts';

const KEYWORDS = [
  'ADD',
  'ARG',
  'CMD',
  'COPY',
  'ENTRYPOINT',
  'ENV',
  'EXPOSE',
  'FROM',
  'HEALTHCHECK',
  'LABEL',
  'MAINTAINER',
  'ONBUILD',
  'RUN',
  'SHELL',
  'STOPSIGNAL',
  'USER',
  'VOLUME',
  'WORKDIR',
];
/** The reference: BuildKit's frontend/dockerfile/parser. */
const WITH_FLAGS = new Set(['ADD', 'COPY', 'FROM', 'HEALTHCHECK', 'RUN']);
const WITH_HEREDOCS = new Set(['ADD', 'COPY', 'RUN']);
export const DOCKERFILE_BYTES_MAX = 1024 * 1024;
const INSTRUCTIONS_MAX = 1000;

/**
 * Splits a Dockerfile into its instructions: directives, comments, continuation lines, flags, here-documents. `name` is what errors call it.
 * Throws `dockerfile_invalid` with file and line.
 */
export function parseDockerfile(source: string, name: string): Dockerfile {
  if (source.length > DOCKERFILE_BYTES_MAX) throw invalid(name, 1, `it is larger than ${DOCKERFILE_BYTES_MAX} bytes`);
  const lines = source.replace(/^\uFEFF/, '').split(/\r?\n/);
  const escapeChar = escapeDirective(lines, name);
  const parser = new Parser(lines, escapeChar, name);
  const instructions = [...parser.all()];
  if (instructions.length === 0) throw invalid(name, 1, 'it has no instructions');
  return { instructions, escapeChar, name };
}

/** Directives are comments `# name=value` before anything else; only `escape` changes anything here. */
function escapeDirective(lines: readonly string[], name: string): '\\' | '`' {
  for (const [index, line] of lines.entries()) {
    const directive = /^\s*#\s*([a-zA-Z][a-zA-Z0-9]*)\s*=\s*(.+?)\s*$/.exec(line);
    if (!directive) break;
    if (directive[1]!.toLowerCase() !== 'escape') continue;
    const value = directive[2];
    if (value !== '\\' && value !== '`') throw invalid(name, index + 1, `escape is \\ or \`, not ${value}`);
    return value;
  }
  return '\\';
}

class Parser {
  readonly #lines: readonly string[];
  readonly #escape: string;
  readonly #name: string;
  /** A line that goes on: the escape character at its end, not itself escaped. */
  readonly #continuation: RegExp;
  #at = 0;

  constructor(lines: readonly string[], escapeChar: string, name: string) {
    this.#lines = lines;
    this.#escape = escapeChar;
    this.#name = name;
    const token = escapeChar === '\\' ? '\\\\' : '`';
    this.#continuation = new RegExp(`(^|[^${token}])${token}[ \\t]*$`);
  }

  *all(): Generator<Instruction> {
    let count = 0;
    while (this.#at < this.#lines.length) {
      const first = this.#lines[this.#at]!.trimStart();
      if (first === '' || first.startsWith('#')) {
        this.#at++;
        continue;
      }
      const line = this.#at + 1;
      const text = this.#join().trim();
      if (text === '') continue;
      if (++count > INSTRUCTIONS_MAX) throw invalid(this.#name, line, `more than ${INSTRUCTIONS_MAX} instructions`);
      yield this.#instruction(text, line);
    }
  }

  /** The line and those that continue it. Comments and empty lines between them are left out. */
  #join(): string {
    let text = '';
    for (let first = true; this.#at < this.#lines.length; first = false) {
      const line = this.#lines[this.#at++]!;
      if (!first && (/^\s*#/.test(line) || line.trim() === '')) continue;
      const content = first ? line.trimStart() : line;
      if (!this.#continuation.test(content)) return (text + content).trimEnd();
      text += content.replace(this.#continuation, '$1');
    }
    return text.trimEnd();
  }

  #instruction(text: string, line: number): Instruction {
    const [, word, after] = /^(\S+)\s*([\s\S]*)$/.exec(text)!;
    const keyword = word!.toUpperCase();
    if (!KEYWORDS.includes(keyword)) {
      const like = nearest(keyword, KEYWORDS);
      throw invalid(this.#name, line, `unknown instruction ${word}`, like ? `Did you mean ${like}?` : undefined);
    }
    const { flags, rest } = WITH_FLAGS.has(keyword) ? this.#flags(after!, line) : { flags: [], rest: after! };
    if (rest === '' && keyword !== 'CMD' && keyword !== 'ENTRYPOINT')
      throw invalid(this.#name, line, `${keyword} needs an argument`);
    const heredocs = WITH_HEREDOCS.has(keyword) && rest.includes('<<') ? this.#heredocs(rest, line) : [];
    return { keyword, line, endLine: this.#at, flags, rest, heredocs, text };
  }

  /** Words that begin with `--`, up to the first that does not. */
  #flags(text: string, line: number): { flags: Flag[]; rest: string } {
    const flags: Flag[] = [];
    let rest = text;
    for (;;) {
      const word = /^--(\S*)\s*/.exec(rest);
      if (!word) return { flags, rest };
      const value = flagWord(rest, this.#escape);
      rest = rest.slice(value.length).trimStart();
      if (value === '--') return { flags, rest };
      const [, name, given] = /^--([a-z][a-z-]*)(?:=([\s\S]*))?$/.exec(value) ?? [];
      if (name === undefined) throw invalid(this.#name, line, `${value} is no flag`);
      flags.push({ name, value: given === undefined ? null : unquoted(given) });
    }
  }

  #heredocs(rest: string, line: number): Heredoc[] {
    const heredocs = findHeredocs(rest, this.#escape);
    for (const heredoc of heredocs) heredoc.content = this.#heredocContent(heredoc, line);
    return heredocs;
  }

  #heredocContent({ name, chomp }: Heredoc, line: number): string {
    let content = '';
    while (this.#at < this.#lines.length) {
      const raw = this.#lines[this.#at++]!;
      const text = chomp ? raw.replace(/^\t+/, '') : raw;
      if (text === name) return content;
      content += `${text}\n`;
    }
    throw invalid(this.#name, line, `the here-document <<${name} does not end`, `Put ${name} on a line of its own.`);
  }
}

/** The first word, quotes kept together. */
function flagWord(text: string, escapeChar: string): string {
  let quote = '';
  for (let at = 0; at < text.length; at++) {
    const char = text[at]!;
    if (char === escapeChar && quote !== "'") at++;
    else if (quote) quote = char === quote ? '' : quote;
    else if (char === '"' || char === "'") quote = char;
    else if (/\s/.test(char)) return text.slice(0, at);
  }
  return text;
}

function unquoted(value: string): string {
  const quoted = /^(["'])([\s\S]*)\1$/.exec(value);
  return quoted ? quoted[2]! : value;
}
