import { isUtf8 } from 'node:buffer';
import { VivError } from '@vivarium/protocol';
import { METADATA_BYTES_MAX, METADATA_KEY_BYTES_MAX } from '@vivarium/protocol/files.ts';
import { violation } from './frame.ts';

const PAIR_HEADER_BYTES = 3;
/** Of an attribute's name before the key (docs/guest-protocol.md). */
const PREFIX_BYTES = 'user.e2b.'.length;

/** Items of a write: `key=value`. Throws `invalid_argument` for what the guest would refuse. */
export function metadataItems(metadata: Readonly<Record<string, string>> | undefined): string[] {
  let bytes = 0;
  const items = Object.entries(metadata ?? {}).map(([key, value]) => {
    const keyBytes = Buffer.byteLength(key);
    if (keyBytes === 0 || keyBytes > METADATA_KEY_BYTES_MAX || key.includes('='))
      throw invalid(`the key "${key.slice(0, 50)}": keys have 1 to ${METADATA_KEY_BYTES_MAX} bytes and no "="`);
    bytes += PREFIX_BYTES + keyBytes + Buffer.byteLength(value);
    return `${key}=${value}`;
  });
  if (bytes > METADATA_BYTES_MAX)
    throw invalid(`${bytes} bytes of names and values; ${METADATA_BYTES_MAX} is the most for one file`);
  return items;
}

function invalid(what: string): VivError {
  return new VivError('invalid_argument', `metadata: ${what}`, { details: { field: 'metadata' } });
}

/**
 * The metadata of an entry record: pairs of `keyLen u8, valueLen u16, key, value`. Programs inside can note any bytes: a pair that is no
 * UTF-8 is left out. Throws a violation for a pair that is cut off.
 */
export function parseMetadata(block: Buffer): Record<string, string> {
  const pairs: [string, string][] = [];
  for (let at = 0; at < block.length; ) {
    const keyAt = at + PAIR_HEADER_BYTES;
    if (keyAt > block.length) throw violation('metadata that is cut off');
    const valueAt = keyAt + block.readUInt8(at);
    const end = valueAt + block.readUInt16LE(at + 1);
    if (end > block.length) throw violation('metadata that is cut off');
    const pair = block.subarray(keyAt, end);
    if (isUtf8(block.subarray(keyAt, valueAt)) && isUtf8(block.subarray(valueAt, end)))
      pairs.push([pair.toString('utf8', 0, valueAt - keyAt), pair.toString('utf8', valueAt - keyAt)]);
    at = end;
  }
  return Object.fromEntries(pairs);
}
