import { VivError } from '@vivarium/protocol';
import type { TarEntry } from './tar-entry.ts';

/** Records `<length> <key>=<value>\n` of an extended header (pax(1)). Values are bytes: names need not be UTF-8. */
export function parsePax(data: Buffer): Map<string, Buffer> {
  const records = new Map<string, Buffer>();
  for (let at = 0; at < data.length; ) {
    const space = data.indexOf(0x20, at);
    const length = space < 0 ? Number.NaN : Number(data.toString('latin1', at, space));
    const end = at + length;
    const equals = data.indexOf(0x3d, space);
    const sound =
      Number.isInteger(length) && end <= data.length && equals > space && equals < end && data[end - 1] === 0x0a;
    if (!sound) throw new VivError('invalid_archive', 'an extended header is damaged');
    records.set(data.toString('utf8', space + 1, equals), Buffer.from(data.subarray(equals + 1, end - 1)));
    at = end;
  }
  return records;
}

/** What an extended header says replaces what the header says. */
export function applyPax(entry: TarEntry, records: ReadonlyMap<string, Buffer>): void {
  for (const [key, value] of records) {
    switch (key) {
      case 'path':
        entry.name = value;
        break;
      case 'linkpath':
        entry.link = value;
        break;
      case 'size':
        entry.size = whole(key, value);
        break;
      case 'uid':
        entry.uid = whole(key, value);
        break;
      case 'gid':
        entry.gid = whole(key, value);
        break;
      case 'mtime':
        entry.mtimeNs = nanoseconds(value);
        break;
      default:
        if (key.startsWith('GNU.sparse.'))
          throw new VivError('invalid_archive', `member "${entry.name}" is a sparse file, which can't be unpacked`);
    }
  }
}

function whole(key: string, value: Buffer): number {
  const number = Number(value.toString('latin1'));
  if (Number.isSafeInteger(number) && number >= 0) return number;
  throw new VivError('invalid_archive', `an extended header has ${key}=${value}`);
}

/** Decimal seconds, perhaps negative, perhaps with a fraction. */
function nanoseconds(value: Buffer): bigint {
  const match = /^(-?)(\d{1,12})(?:\.(\d*))?$/.exec(value.toString('latin1'));
  if (!match) throw new VivError('invalid_archive', `an extended header has mtime=${value}`);
  const [, sign, seconds, fraction = ''] = match;
  const ns = BigInt(seconds!) * 1_000_000_000n + BigInt(fraction.slice(0, 9).padEnd(9, '0'));
  return sign === '-' ? -ns : ns;
}
