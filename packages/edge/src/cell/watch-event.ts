import { violation } from './frame.ts';

export type CellWatchEvent = {
  kind: 'create' | 'modify' | 'remove' | 'rename_from' | 'rename_to' | 'attributes' | 'overflow' | 'gone';
  /** Joins the two halves of a rename. */
  cookie: number;
  isDir: boolean;
  /** Relative to the watched directory. */
  path: Buffer;
};

const KINDS = [
  undefined,
  'create',
  'modify',
  'remove',
  'rename_from',
  'rename_to',
  'attributes',
  'overflow',
  'gone',
] as const;
const FIXED_BYTES = 16;
export const EVENT_BYTES_MAX = 16_384 + FIXED_BYTES;

/** A whole event record (docs/guest-protocol.md, "Event record"). Copies the path. */
export function parseWatchEvent(record: Buffer): CellWatchEvent {
  if (record.length < FIXED_BYTES) throw violation(`event record of ${record.length} bytes`);
  const kind = KINDS[record.readUInt32LE(4)];
  const path = record.subarray(FIXED_BYTES);
  if (record.readUInt16LE(14) !== path.length) throw violation('event record that lies about its length');
  if (kind === undefined || path.includes(0)) throw violation('event of an unknown kind or with an impossible path');
  return { kind, cookie: record.readUInt32LE(8), isDir: record[12] !== 0, path: Buffer.from(path) };
}
