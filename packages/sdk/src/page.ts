import type { Http, Query } from './http.ts';

/** Walks all pages of a list, fetching the next one only when it is needed. */
export async function* pages<T>(http: Http, path: string, query: Query = {}): AsyncGenerator<T> {
  let cursor: string | undefined;
  do {
    const page: { items: T[]; nextCursor: string | null } = await http.json('GET', path, {
      query: { ...query, cursor },
    });
    yield* page.items;
    cursor = page.nextCursor ?? undefined;
  } while (cursor !== undefined);
}

/** Collects what an iterator yields. */
export async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const item of items) all.push(item);
  return all;
}
