import type { JournalRecord } from '@vivarium/sdk';
import { style, visible } from './console.ts';
import { formatBytes, formatSeconds } from './units.ts';

/** Output shown beneath a command that ended. */
const OUTPUT_LINES_MAX = 20;

type Data = Record<string, unknown>;
type Stream = { bytes: number; truncated: boolean; b64?: string };

/** One journal record for people: time, what, how it ended; the output of a command beneath it. */
export function journalLine(record: JournalRecord): string {
  const time = style.dim(record.at.slice(0, 23).replace('T', ' '));
  const { text, more } = describeRecord(record);
  return [`${time}  ${style.cyan(record.type.padEnd(10))} ${text}`, ...more.map((line) => `    ${line}`)].join('\n');
}

function describeRecord({ type, exec, data }: JournalRecord): { text: string; more: string[] } {
  const id = exec ? `${exec} ` : '';
  if (type === 'exec_start')
    return {
      text: id + style.bold(visible(shellWords(data.argv as string[]))) + note({ user: data.user, cwd: data.cwd }),
      more: [],
    };
  if (type === 'exec_end')
    return { text: id + ending(data), more: [...output('stdout', data.stdout), ...output('stderr', data.stderr)] };
  if (type === 'file')
    return {
      text: `${data.op} ${visible(String(data.path ?? ''))}${note(rest(data, ['op', 'path', 'pathB64']))}`,
      more: [],
    };
  if (type === 'state')
    return {
      text: Object.entries(data)
        .map(([name, value]) => (name === 'state' ? String(value) : `${name} ${visible(String(value))}`))
        .join(', '),
      more: [],
    };
  if (type === 'sandbox')
    return { text: `${data.image} ${note(rest(data, ['image', 'limits', 'envNames', 'reach', 'labels']))}`, more: [] };
  return { text: note(data).trim(), more: [] };
}

function ending(data: Data): string {
  const outcome = data.outcome as { type: string; code?: number; signal?: number } | null;
  const code = data.exitCode as number | null;
  const word = !outcome
    ? 'did not start'
    : outcome.type === 'exited'
      ? `exited ${outcome.code}`
      : outcome.type === 'signaled'
        ? `signal ${outcome.signal}`
        : outcome.type;
  const painted = code === 0 ? style.green(word) : style.red(word);
  const annotations = (data.annotations as string[] | undefined)?.join(', ');
  const time = formatSeconds(Number(data.durationMs ?? 0) / 1000);
  return `${painted} after ${time}${annotations ? ` (${annotations})` : ''}${data.message ? `: ${visible(String(data.message))}` : ''}`;
}

/** The journal may hold the output itself (short) or only its size. */
function output(name: string, stream: unknown): string[] {
  const { bytes = 0, truncated, b64 } = (stream ?? {}) as Partial<Stream>;
  if (bytes === 0) return [];
  if (b64 === undefined) return [style.dim(`${name}: ${formatBytes(bytes)}${truncated ? ', cut' : ''}`)];
  const lines = Buffer.from(b64, 'base64').toString().replace(/\n$/, '').split('\n');
  const shown = lines
    .slice(0, OUTPUT_LINES_MAX)
    .map((line) => `${style.dim(name === 'stderr' ? '!' : '|')} ${visible(line)}`);
  return lines.length > OUTPUT_LINES_MAX
    ? [...shown, style.dim(`${name}: ${lines.length - OUTPUT_LINES_MAX} more lines`)]
    : shown;
}

function note(data: Data): string {
  const parts = Object.entries(data)
    .filter(([, value]) => value !== null && value !== undefined)
    .map(([name, value]) => `${name} ${visible(typeof value === 'object' ? JSON.stringify(value) : String(value))}`);
  return parts.length === 0 ? '' : style.dim(`  ${parts.join(', ')}`);
}

function rest(data: Data, names: readonly string[]): Data {
  return Object.fromEntries(Object.entries(data).filter(([name]) => !names.includes(name)));
}

/** As one would type it. */
export function shellWords(argv: readonly string[]): string {
  if (argv.length === 3 && argv[0] === '/bin/sh' && argv[1] === '-c') return argv[2]!;
  return argv.map((word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`)).join(' ');
}
