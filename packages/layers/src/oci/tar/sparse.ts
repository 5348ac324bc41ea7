import { Refusal } from '../refusal.ts';
import { BLOCK, count } from './header.ts';
import { type PaxRecord, paxNumber } from './pax.ts';

/** Bytes of a file that the archive holds: `length` of them belong at `offset` and lie at `at` in the archive. */
export type Segment = { offset: number; length: number; at: number };

/** How the archive stores a sparse file (GNU tar manual, "Storing Sparse Files"). `dataAt`: where its bytes begin. */
export type SparseFile = { realSize: number; segments: Segment[] };

const SEGMENTS_MAX = 1_000_000;
type Read = (at: number, length: number) => Buffer;

/** The old GNU format: four pairs in the header, more in blocks behind it. `end`: behind those blocks. */
export function oldGnuSparse(header: Buffer, at: number, read: Read): SparseFile & { dataAt: number } {
  const pairs: [number, number][] = [];
  const take = (block: Buffer, from: number, most: number) => {
    for (let i = 0; i < most; i++) {
      const start = from + i * 24;
      if (block[start] === 0) return;
      pairs.push([count(block, start, start + 12), count(block, start + 12, start + 24)]);
      if (pairs.length > SEGMENTS_MAX) throw tooMany();
    }
  };
  take(header, 386, 4);
  let next = at;
  let isExtended = header[482] !== 0;
  while (isExtended) {
    const block = read(next, BLOCK);
    next += BLOCK;
    take(block, 0, 21);
    isExtended = block[504] !== 0;
  }
  return { realSize: count(header, 483, 495), segments: laidOut(pairs, next), dataAt: next };
}

/** The pax formats 0.0, 0.1 and 1.0; null for a file that is not sparse. */
export function paxSparse(pax: readonly PaxRecord[], at: number, read: Read): (SparseFile & { name?: Buffer }) | null {
  const values = new Map(pax);
  const name = values.get('GNU.sparse.name');
  const size = values.get('GNU.sparse.realsize') ?? values.get('GNU.sparse.size');
  if (!size) return null;
  const isVersion1 = values.get('GNU.sparse.major')?.toString('latin1') === '1';
  const { pairs, dataAt } = isVersion1 ? mapInData(at, read) : { pairs: mapInRecords(pax), dataAt: at };
  return { realSize: paxNumber(size), segments: laidOut(pairs, dataAt), ...(name && { name }) };
}

function mapInRecords(pax: readonly PaxRecord[]): [number, number][] {
  const map = pax.find(([key]) => key === 'GNU.sparse.map')?.[1];
  const numbers = map
    ? map.toString('latin1').split(',').filter(Boolean)
    : pax.flatMap(([key, value]) => (/^GNU\.sparse\.(offset|numbytes)$/.test(key) ? [value.toString('latin1')] : []));
  return paired(numbers.map((each) => paxNumber(Buffer.from(each))));
}

/** Version 1.0: the map stands before the data, a number a line, filled up to whole blocks. */
function mapInData(at: number, read: Read): { pairs: [number, number][]; dataAt: number } {
  const numbers: number[] = [];
  let rest = '';
  let next = at;
  let wanted = 1;
  while (numbers.length < wanted) {
    const lines = (rest + read(next, BLOCK).toString('latin1')).split('\n');
    next += BLOCK;
    rest = lines.pop()!;
    // A whole block without the end of a line: that is no number.
    if (lines.length === 0) paxNumber(Buffer.from(rest));
    for (const line of lines) {
      if (numbers.length >= wanted) break;
      numbers.push(paxNumber(Buffer.from(line)));
      if (numbers.length === 1) wanted = 1 + 2 * numbers[0]!;
      if (wanted > 2 * SEGMENTS_MAX) throw tooMany();
    }
  }
  return { pairs: paired(numbers.slice(1)), dataAt: next };
}

function paired(numbers: readonly number[]): [number, number][] {
  return Array.from({ length: Math.floor(numbers.length / 2) }, (_, i) => [numbers[2 * i]!, numbers[2 * i + 1]!]);
}

function laidOut(pairs: readonly [number, number][], dataAt: number): Segment[] {
  let at = dataAt;
  let before = 0;
  return pairs.flatMap(([offset, length]) => {
    if (offset < before) throw new Refusal('invalid_image', 'the archive is damaged: parts of a sparse file overlap');
    const segment = { offset, length, at };
    before = offset + length;
    at += length;
    return length > 0 ? [segment] : [];
  });
}

function tooMany(): Refusal {
  return new Refusal('invalid_image', `a sparse file of more than ${SEGMENTS_MAX} parts`);
}
