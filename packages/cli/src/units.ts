import { bad } from './complaint.ts';

const SIZE = { '': 1, k: 1 / 1024, m: 1, g: 1024, t: 1024 ** 2 } as const;
const TIME = { ms: 0.001, '': 1, s: 1, m: 60, h: 3600, d: 86_400 } as const;

/** `512`, `512m`, `2g`, `1.5GiB` in MiB. */
export function parseMiB(text: string): number {
  const match = /^(\d+(?:\.\d+)?)\s*([kmgt]?)(?:i?b)?$/i.exec(text);
  if (!match) throw bad(`not a size: ${text}`, 'Write 512m, 2g or a number of MiB.');
  return Math.ceil(Number(match[1]) * SIZE[match[2]!.toLowerCase() as keyof typeof SIZE]);
}

/** `90`, `90s`, `10m`, `2h`, `1d`, `500ms` in seconds. */
export function parseSeconds(text: string): number {
  const match = /^(\d+(?:\.\d+)?)\s*(ms|[smhd]?)$/i.exec(text);
  if (!match) throw bad(`not a time: ${text}`, 'Write 90s, 10m, 2h, 1d or a number of seconds.');
  return Number(match[1]) * TIME[match[2]!.toLowerCase() as keyof typeof TIME];
}

export function parseCount(text: string): number {
  if (!/^\d+$/.test(text)) throw bad(`not a whole number: ${text}`);
  return Number(text);
}

export function parseNumber(text: string): number {
  const value = Number(text);
  if (text.trim() === '' || !Number.isFinite(value)) throw bad(`not a number: ${text}`);
  return value;
}

/** For options that may be given several times: `NAME=VALUE`. */
export function collectPair(text: string, all: Record<string, string> = {}): Record<string, string> {
  const mark = text.indexOf('=');
  if (mark < 1) throw bad(`not NAME=VALUE: ${text}`);
  return { ...all, [text.slice(0, mark)]: text.slice(mark + 1) };
}

/** `NAME=VALUE`, or `NAME` alone for the value it has here. */
export function collectEnv(text: string, all: Record<string, string> = {}): Record<string, string> {
  if (text.includes('=')) return collectPair(text, all);
  const value = process.env[text];
  return value === undefined ? all : { ...all, [text]: value };
}

export function formatBytes(bytes: number): string {
  if (bytes < 1024) return `${bytes} B`;
  const power = Math.min(4, Math.floor(Math.log2(bytes) / 10));
  const value = bytes / 1024 ** power;
  return `${value < 10 ? value.toFixed(1) : Math.round(value)} ${['B', 'KiB', 'MiB', 'GiB', 'TiB'][power]}`;
}

/** The two largest units: `3h 12m`. */
export function formatSeconds(seconds: number): string {
  if (seconds === 0) return '0s';
  if (seconds < 1) return `${Math.round(seconds * 1000)}ms`;
  if (seconds < 60) return `${seconds < 10 ? Math.round(seconds * 10) / 10 : Math.round(seconds)}s`;
  const units: [string, number][] = [
    ['d', 86_400],
    ['h', 3600],
    ['m', 60],
    ['s', 1],
  ];
  const first = units.findIndex(([, size]) => seconds >= size);
  const rounded = Math.floor(seconds);
  const [big, small] = [units[first]!, units[first + 1]!];
  const rest = Math.floor((rounded % big[1]) / small[1]);
  return `${Math.floor(rounded / big[1])}${big[0]}${rest > 0 ? ` ${rest}${small[0]}` : ''}`;
}

export function formatAge(time: string, now = Date.now()): string {
  return formatSeconds(Math.max(0, Math.round((now - Date.parse(time)) / 1000)));
}
