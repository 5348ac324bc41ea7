import { VivError } from '@vivarium/protocol';

/**
 * `k=v&…` with encoded names and values, as the decoded query parameter holds it. Newer clients encode them once, older ones twice: both
 * readings, where they differ. Throws `invalid_argument`.
 */
export function metadataFilters(text: string): Record<string, string>[] {
  const once = read(text, 1);
  const twice = read(text, 2);
  return JSON.stringify(once) === JSON.stringify(twice) ? [once] : [twice, once];
}

function read(text: string, times: number): Record<string, string> {
  const filter: Record<string, string> = Object.create(null);
  for (const pair of text.split('&')) {
    if (pair === '') continue;
    const mark = pair.indexOf('=');
    if (mark < 0) throw invalid(pair);
    filter[decoded(pair.slice(0, mark), times)] = decoded(pair.slice(mark + 1), times);
  }
  return filter;
}

/** What is not encoded (any more) stays as it is. */
function decoded(text: string, times: number): string {
  let result = text;
  for (let i = 0; i < times; i++) {
    try {
      result = decodeURIComponent(result);
    } catch {
      if (i === 0) throw invalid(text);
      return result;
    }
  }
  return result;
}

function invalid(pair: string): VivError {
  return new VivError('invalid_argument', `metadata: "${pair.slice(0, 100)}" is not name=value, URL-encoded`, {
    details: { field: 'metadata' },
  });
}
