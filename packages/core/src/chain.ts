import { createHash } from 'node:crypto';
import { type JournalRecord, VivError } from '@vivarium/protocol';

/** `prev` of the first record. */
export const CHAIN_START = '0'.repeat(64);

/**
 * Canonical JSON: object keys in code-unit order, no white space, `undefined` members left out, otherwise as JSON.stringify.
 * The hash of a record is the SHA-256 (hex) of this form of the record without `hash`.
 */
export function canonicalJson(value: unknown): string {
  if (value === null || typeof value !== 'object') return JSON.stringify(value) ?? 'null';
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`;
  const object = value as Record<string, unknown>;
  const members: string[] = [];
  for (const key of Object.keys(object).sort()) {
    if (object[key] !== undefined) members.push(`${JSON.stringify(key)}:${canonicalJson(object[key])}`);
  }
  return `{${members.join(',')}}`;
}

/** Completes a record with `prev` and `hash`. */
export function chainRecord(record: Omit<JournalRecord, 'prev' | 'hash'>, prev: string): JournalRecord {
  const linked = { ...record, prev };
  return { ...linked, hash: recordHash(linked) };
}

/** The hash a record must have. */
export function recordHash(record: Omit<JournalRecord, 'hash'> & { hash?: string }): string {
  const { hash: _, ...rest } = record;
  return createHash('sha256').update(canonicalJson(rest)).digest('hex');
}

/** Where a chain stands: what the next record must link to. */
export type ChainHead = { seq: number; hash: string };

export const EMPTY_CHAIN: ChainHead = { seq: -1, hash: CHAIN_START };

/** Checks that a record follows `head` and returns the new head; throws `internal` naming the sequence number where the chain breaks. */
export function verifyNext(head: ChainHead, record: JournalRecord): ChainHead {
  const broken = (why: string) =>
    new VivError('internal', `the journal's chain breaks at record ${record.seq}: ${why}`, {
      details: { seq: record.seq },
    });
  if (record.seq !== head.seq + 1) throw broken(`expected sequence number ${head.seq + 1}`);
  if (record.prev !== head.hash) throw broken('it does not follow the record before it');
  if (record.hash !== recordHash(record)) throw broken('its content does not match its hash');
  return { seq: record.seq, hash: record.hash };
}

/** Checks a whole chain from its start and returns its head. */
export function verifyChain(records: Iterable<JournalRecord>, from: ChainHead = EMPTY_CHAIN): ChainHead {
  let head = from;
  for (const record of records) head = verifyNext(head, record);
  return head;
}
