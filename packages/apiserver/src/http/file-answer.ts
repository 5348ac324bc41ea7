import type { Readable } from 'node:stream';
import { type Entry, VivError } from '@vivarium/protocol';
import { LIST_ITEMS_MAX } from '@vivarium/protocol/routes.ts';
import { type Answer, bytes, withStatus } from './answer.ts';
import { parseRange } from './range.ts';

/** Clients take 16 KiB of headers in all (Node's default); a path of 4,096 odd bytes would be more. */
const ENTRY_HEADER_MAX = 8_000;

export type FileReader = {
  stat(): Promise<Entry>;
  read(range: { offset?: number; length?: number }): Promise<{ entry: Entry; stream: Readable }>;
};

/** The content of a file, or the range of it that was asked for: that takes one more look at the file, for its size. */
export async function contentAnswer(wanted: string | undefined, { stat, read }: FileReader): Promise<Answer> {
  const size = wanted === undefined ? undefined : (await stat()).sizeBytes;
  const range = size === undefined ? undefined : parseRange(wanted!, size);
  if (range === 'unsatisfiable')
    return withStatus(
      416,
      new VivError('invalid_argument', `the file has ${size} bytes; nothing of it is in ${wanted}`).toBody(),
    );
  const { entry, stream } = await read(range ?? {});
  const headers: Record<string, string | number> = {
    'content-type': 'application/octet-stream',
    'accept-ranges': 'bytes',
  };
  const shown = asciiJson(entry);
  if (shown.length <= ENTRY_HEADER_MAX) headers['x-viv-entry'] = shown;
  if (!range) {
    // The size of a file that grows or of one in /proc says nothing: those end with the stream (chunked).
    if (entry.sizeBytes > 0) headers['content-length'] = entry.sizeBytes;
    return bytes(stream, 200, headers);
  }
  headers['content-length'] = range.length;
  headers['content-range'] = `bytes ${range.offset}-${range.offset + range.length - 1}/${size}`;
  return bytes(stream, 206, headers);
}

/** All of them in memory. Throws `payload_too_large`. */
export async function gatherEntries<T extends Entry>(entries: AsyncIterable<T>): Promise<T[]> {
  const items: T[] = [];
  for await (const entry of entries) {
    if (items.length === LIST_ITEMS_MAX) {
      throw new VivError('payload_too_large', `the directory has more than ${LIST_ITEMS_MAX} entries`, {
        hint: 'Ask with `Accept: application/x-ndjson`, or for a smaller depth.',
      });
    }
    items.push(entry);
  }
  return items;
}

/** JSON for a header: headers are Latin-1 on the wire, so everything else is escaped. */
function asciiJson(value: unknown): string {
  return JSON.stringify(value).replace(
    /[\u007f-\uffff]/g,
    (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}
