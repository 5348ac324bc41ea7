import { parse, TomlError } from 'smol-toml';
import { taskInvalid } from './complaint.ts';

export type Path = readonly (string | number)[];
export type TomlFile = {
  file: string;
  data: Record<string, unknown>;
  /** The 1-based line on which a value, or the nearest table above it, is written; undefined when it can't be told. */
  lineOf(path: Path): number | undefined;
};

/** Parses TOML 1.0; a byte-order mark and CRLF are tolerated. Dates become text, so that all of it can be kept as JSON. */
export function parseToml(text: string, file: string): TomlFile {
  const source = text.replace(/^\uFEFF/, '');
  try {
    const data = plain(parse(source)) as Record<string, unknown>;
    return { file, data, lineOf: (path) => lineOf(source, path) };
  } catch (error) {
    if (!(error instanceof TomlError)) throw taskInvalid({ file }, `is no TOML: ${(error as Error).message}`);
    const reason = error.message.split('\n')[0]!.replace(/^Invalid TOML document: /, '');
    throw taskInvalid(
      { file, line: error.line },
      `is no TOML: ${reason}`,
      'See https://toml.io for the syntax.',
      error,
    );
  }
}

/** `a.b[1].c`, as people write it. */
export function dotted(path: Path): string {
  return path.reduce<string>(
    (text, part) => (typeof part === 'number' ? `${text}[${part}]` : text === '' ? part : `${text}.${part}`),
    '',
  );
}

function plain(value: unknown): unknown {
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? String(value) : value.toISOString();
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, plain(item)]));
}

/** Of a line: headers and keys are short, and expressions slow on what is not. */
const LOOKED_AT = 500;

/** By headers and keys, not by a second parser: enough for a message, never used for values. */
function lineOf(source: string, path: Path): number | undefined {
  const wanted = dotted(path);
  const counts = new Map<string, number>();
  let table = '';
  let best: { line: number; length: number } | undefined;
  for (const [index, whole] of source.split('\n').entries()) {
    const text = whole.slice(0, LOOKED_AT);
    const header = /^\s*(\[\[?)\s*([A-Za-z0-9_.\-"' ]+?)\s*\]\]?\s*(#.*)?\r?$/.exec(text);
    const key = /^\s*([A-Za-z0-9_.\-"']+(?:\s*\.\s*[A-Za-z0-9_\-"']+)*)\s*=/.exec(text);
    if (header) table = tableOf(header[2]!, header[1] === '[[', counts);
    const at = header ? table : key ? join(table, bare(key[1]!)) : undefined;
    const covers = at !== undefined && (wanted === at || wanted.startsWith(`${at}.`) || wanted.startsWith(`${at}[`));
    if (covers && at.length > (best?.length ?? 0)) best = { line: index + 1, length: at.length };
  }
  return best?.line;
}

/** The full path of a table header; `[steps.agent]` below `[[steps]]` belongs to the last of them. */
function tableOf(header: string, isArray: boolean, counts: Map<string, number>): string {
  const name = bare(header);
  if (isArray) counts.set(name, (counts.get(name) ?? -1) + 1);
  return name.split('.').reduce(
    ({ plainPath, indexed }, part) => {
      const next = join(plainPath, part);
      const count = counts.get(next);
      return { plainPath: next, indexed: join(indexed, count === undefined ? part : `${part}[${count}]`) };
    },
    { plainPath: '', indexed: '' },
  ).indexed;
}

const bare = (key: string) => key.replace(/["'\s]/g, '');
const join = (before: string, part: string) => (before === '' ? part : `${before}.${part}`);
