import { Refusal } from '../refusal.ts';

/** Records of an extended header (POSIX pax), in order; a keyword may come more than once (GNU sparse 0.0). */
export type PaxRecord = readonly [key: string, value: Buffer];

/** `LENGTH KEY=VALUE\n`, each. Values are bytes. Throws Refusal. */
export function parsePax(bytes: Buffer): PaxRecord[] {
  const records: PaxRecord[] = [];
  for (let at = 0; at < bytes.length; ) {
    const blank = bytes.indexOf(0x20, at);
    const digits = blank < 0 ? '' : bytes.toString('latin1', at, blank);
    const end = at + Number(digits);
    const equals = bytes.indexOf(0x3d, blank);
    if (!/^[0-9]{1,10}$/.test(digits) || end > bytes.length || equals < 0 || equals >= end || bytes[end - 1] !== 0x0a)
      throw new Refusal('invalid_image', 'the archive is damaged: an extended header can’t be read');
    records.push([bytes.toString('latin1', blank + 1, equals), Buffer.from(bytes.subarray(equals + 1, end - 1))]);
    at = end;
  }
  return records;
}

/** A whole number that is not negative. */
export function paxNumber(value: Buffer): number {
  const digits = value.toString('latin1');
  const number = Number(digits);
  if (!/^[0-9]{1,16}$/.test(digits) || !Number.isSafeInteger(number))
    throw new Refusal('invalid_image', `the archive is damaged: '${digits.slice(0, 30)}' is no number`);
  return number;
}

/** Seconds with a fraction, perhaps before 1970, in nanoseconds. */
export function paxTime(value: Buffer): bigint {
  const match = /^(-?)([0-9]{1,12})(?:\.([0-9]*))?$/.exec(value.toString('latin1'));
  if (!match) throw new Refusal('invalid_image', 'the archive is damaged: a time can’t be read');
  const [, sign, seconds, fraction = ''] = match;
  const nanoseconds = BigInt(seconds!) * 1_000_000_000n + BigInt(fraction.slice(0, 9).padEnd(9, '0'));
  return sign === '-' ? -nanoseconds : nanoseconds;
}
