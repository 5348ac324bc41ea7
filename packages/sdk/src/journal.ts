import type { JournalRecord } from '@vivarium/protocol/journal.ts';
import type { Context } from './context.ts';
import { Subscription } from './subscription.ts';

const PAGE_RECORDS = 1000;

/** Records after `after`, page by page; with `follow` also those to come. */
export async function* followLogs(
  context: Context,
  sandbox: string,
  options: { after?: number; follow?: boolean; signal?: AbortSignal },
): AsyncGenerator<JournalRecord> {
  let after = options.after ?? -1;
  if (options.follow) {
    yield* new Subscription<JournalRecord>(context, {
      open: { op: 'logs.follow', sandbox, after },
      reopen: () => ({ op: 'logs.follow', sandbox, after }),
      pick: (event) => {
        const record = (event.record ?? event) as unknown as JournalRecord;
        if (typeof record.seq !== 'number') return undefined;
        after = record.seq;
        return record;
      },
      signal: options.signal,
    });
    return;
  }
  for (;;) {
    const query = { after, limit: PAGE_RECORDS };
    const path = `/v1/sandboxes/${sandbox}/logs`;
    const { items: records } = await context.http.json<{ items: JournalRecord[] }>('GET', path, {
      query,
      signal: options.signal,
    });
    yield* records;
    if (records.length < PAGE_RECORDS) return;
    after = records.at(-1)!.seq;
  }
}
