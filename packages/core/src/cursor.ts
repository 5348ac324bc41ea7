import { VivError } from '@vivarium/protocol';

/** A page cursor: opaque to clients, the last key of the page to us. */
export function encodeCursor(key: string): string {
  return Buffer.from(`c1:${key}`).toString('base64url');
}

/** Throws `invalid_argument` for anything encodeCursor did not make. */
export function decodeCursor(cursor: string): string {
  const text = Buffer.from(cursor, 'base64url').toString();
  if (!text.startsWith('c1:') || Buffer.from(text).toString('base64url') !== cursor) {
    throw new VivError('invalid_argument', `cursor "${cursor.slice(0, 80)}" is not one this server gave`, {
      details: { field: 'cursor' },
    });
  }
  return text.slice(3);
}

/** A page of at most `limit` from `limit + 1` items that were fetched; the extra one only tells that there is more. */
export function pageOf<T>(
  items: T[],
  limit: number,
  key: (item: T) => string,
): { items: T[]; nextCursor: string | null } {
  if (items.length <= limit) return { items, nextCursor: null };
  const kept = items.slice(0, limit);
  return { items: kept, nextCursor: encodeCursor(key(kept[kept.length - 1]!)) };
}
