import { constants } from 'node:os';
import { VivError } from '@vivarium/protocol';

/** A signal by number or name (`TERM`, `SIGTERM`, `RTMIN+1`) as its Linux x86-64 number. Throws `invalid_argument`. */
export function signalNumber(signal: number | string): number {
  if (typeof signal === 'number') return signal;
  const name = signal.startsWith('SIG') ? signal : `SIG${signal}`;
  const known = (constants.signals as Record<string, number>)[name];
  if (known !== undefined) return known;
  const realtime = /^SIGRTMIN(?:\+(\d{1,2}))?$/.exec(name);
  const number = realtime ? 34 + Number(realtime[1] ?? 0) : 0;
  if (number >= 34 && number <= 64) return number;
  throw new VivError('invalid_argument', `"${signal}" is no signal`, { details: { field: 'signal', value: signal } });
}

/** `SIGKILL` for 9; `signal 35` for those without a name. */
export function signalName(number: number): string {
  const found = Object.entries(constants.signals).find(([, value]) => value === number);
  return found ? found[0] : `signal ${number}`;
}
