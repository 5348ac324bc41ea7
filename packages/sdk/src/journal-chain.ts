import type { JournalRecord } from '@vivarium/protocol/journal.ts';
import { VivError } from '@vivarium/protocol/viv-error.ts';

/** `prev` of a journal's first record. */
export const CHAIN_START = '0'.repeat(64);

export type ChainHead = { seq: number; hash: string };

/**
 * Checks that each record links to the one before and says what its hash says, and passes it on. The hash is the SHA-256
 * of the record's canonical JSON without `hash`. Throws `internal` naming the record where the chain breaks.
 */
export async function* verified(
  records: AsyncIterable<JournalRecord>,
  from: ChainHead = { seq: -1, hash: CHAIN_START },
): AsyncGenerator<JournalRecord> {
  let head = from;
  for await (const record of records) {
    if (record.seq !== head.seq + 1) throw broken(record, `expected sequence number ${head.seq + 1}`);
    if (record.prev !== head.hash) throw broken(record, 'it does not follow the record before it');
    if (record.hash !== (await recordHash(record))) throw broken(record, 'its content does not match its hash');
    head = { seq: record.seq, hash: record.hash };
    yield record;
  }
}

/** The hash a record must have. */
export async function recordHash(record: Omit<JournalRecord, 'hash'> & { hash?: string }): Promise<string> {
  const { hash: _, ...rest } = record;
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(canonicalJson(rest)));
  return Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, '0')).join('');
}

/** Object keys in code-unit order, no white space, `undefined` members left out. */
function canonicalJson(value: unknown): string {
  if (value === null || typeof value !== 'object') return JSON.stringify(value) ?? 'null';
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`;
  const object = value as Record<string, unknown>;
  const members = Object.keys(object)
    .sort()
    .filter((key) => object[key] !== undefined)
    .map((key) => `${JSON.stringify(key)}:${canonicalJson(object[key])}`);
  return `{${members.join(',')}}`;
}

function broken(record: JournalRecord, why: string): VivError {
  return new VivError('internal', `the journal's chain breaks at record ${record.seq}: ${why}`, {
    details: { seq: record.seq },
  });
}
