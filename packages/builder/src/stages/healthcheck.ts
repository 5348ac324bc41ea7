import type { Healthcheck } from '@vivarium/protocol';
import type { Instruction } from '../dockerfile/instruction.ts';
import { jsonWords } from '../dockerfile/words.ts';
import type { StageState } from './stage-state.ts';

const TIMES: Record<string, 'intervalMs' | 'timeoutMs' | 'startPeriodMs' | 'startIntervalMs'> = {
  interval: 'intervalMs',
  timeout: 'timeoutMs',
  'start-period': 'startPeriodMs',
  'start-interval': 'startIntervalMs',
};

/** `HEALTHCHECK [flags] CMD …` or `HEALTHCHECK NONE`. */
export function healthcheckOf(state: StageState, at: Instruction): Healthcheck {
  const [, word, rest] = /^(\S+)\s*([\s\S]*)$/.exec(at.rest)!;
  if (word!.toUpperCase() === 'NONE' && rest === '') return { test: ['NONE'] };
  if (word!.toUpperCase() !== 'CMD' || rest === '') throw state.complain(at, 'it takes CMD and a command, or NONE');
  const json = jsonWords(rest!);
  const check: Healthcheck = { test: json ? ['CMD', ...json] : ['CMD-SHELL', rest!] };
  for (const { name, value } of at.flags) {
    const time = TIMES[name];
    if (time) check[time] = milliseconds(state, at, name, value ?? '');
    else if (name === 'retries' && /^\d{1,6}$/.test(value ?? '')) check.retries = Number(value);
    else throw state.complain(at, `--${name}${value === null ? '' : `=${value}`} is no option of it`);
  }
  return check;
}

const UNITS: Record<string, number> = { ns: 1e-6, us: 1e-3, µs: 1e-3, ms: 1, s: 1000, m: 60_000, h: 3_600_000 };

/** Go's durations: 1m30s. */
function milliseconds(state: StageState, at: Instruction, flag: string, text: string): number {
  if (!/^(\d+(\.\d+)?(ns|us|µs|ms|s|m|h))+$/.test(text))
    throw state.complain(at, `--${flag}=${text} is no time, as 30s or 1m30s`);
  let total = 0;
  for (const [, number, unit] of text.matchAll(/(\d+(?:\.\d+)?)(ns|us|µs|ms|s|m|h)/g))
    total += Number(number) * UNITS[unit!]!;
  return Math.round(total);
}
