/** What people and programs see. Results go to stdout, all else to stderr. */
import { inspect } from 'node:util';

export const interactive = {
  stdout: Boolean(process.stdout.isTTY),
  stdin: Boolean(process.stdin.isTTY),
  stderr: Boolean(process.stderr.isTTY),
};

const colour = interactive.stdout && !process.env.NO_COLOR && process.env.TERM !== 'dumb';
const paint = (open: number, close: number) => (text: string) =>
  colour ? `\u001b[${open}m${text}\u001b[${close}m` : text;
export const style = {
  bold: paint(1, 22),
  dim: paint(2, 22),
  red: paint(31, 39),
  green: paint(32, 39),
  yellow: paint(33, 39),
  cyan: paint(36, 39),
};

export function print(text: string): void {
  process.stdout.write(`${text}\n`);
}

/** One JSON document, indented. */
export function printJson(value: unknown): void {
  print(JSON.stringify(value, null, 2));
}

/** One JSON value on a line: for streams. */
export function printLine(value: unknown): void {
  print(JSON.stringify(value));
}

export function note(text: string): void {
  process.stderr.write(`${text}\n`);
}

/** Writes bytes and waits while the reader is slow. */
export function writeAll(stream: NodeJS.WriteStream, chunk: Uint8Array): Promise<void> | void {
  if (stream.write(chunk)) return;
  return new Promise((resolve) => stream.once('drain', resolve));
}

/** Columns as wide as their content; the last one as long as it likes. Control characters are made visible. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const cells = rows.map((row) => row.map(visible));
  const widths = head.map((title, i) => Math.max(title.length, ...cells.map((row) => width(row[i] ?? ''))));
  const line = (row: readonly string[]) =>
    row.map((cell, i) => (i === row.length - 1 ? cell : cell + ' '.repeat(widths[i]! - width(cell) + 2))).join('');
  return [style.dim(line(head)), ...cells.map(line)].map((text) => text.trimEnd()).join('\n');
}

/** The same of text of several lines; those after the first are indented. */
export function visibleLines(text: string, indent: string): string {
  return text.split('\n').map(visible).join(`\n${indent}`);
}

/** A whole text for a terminal: line ends and tabs stay what they are. */
export function visibleText(text: string): string {
  return text.replace(/[^\r\n\t]+|\r(?!\n)/g, visible);
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: the codes are ours.
const COLOUR_CODE = /\u001b\[\d+m/g;

function width(text: string): number {
  return text.replace(COLOUR_CODE, '').length;
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what this is about.
const UNSEEN = /\u001b\[(?:[12]|22|3[12369])m|[\u0000-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g;

/**
 * What comes from a sandbox must not drive the terminal, hide text or turn it round (control characters, bidirectional
 * overrides); the few colours of our own stay.
 */
export function visible(text: string): string {
  return text.replace(UNSEEN, (match) => {
    if (match.length > 1) return match;
    return match > '\u009f' ? `\\u${match.charCodeAt(0).toString(16)}` : inspect(match).slice(1, -1);
  });
}
