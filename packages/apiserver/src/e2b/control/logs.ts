import type { JournalRecord } from '@vivarium/protocol';
import { E2bLogsQuery } from '@vivarium/protocol/e2b/control.ts';
import { type ControlCall, type ControlRoute, route } from './control-call.ts';
import { live } from './live.ts';

const PAGE = 1000;
/** Records that are looked at for one answer. */
const SCANNED_MAX = 20_000;

/** What happened in a sandbox: its journal, in words. */
export const logRoutes: ControlRoute[] = [
  route('GET /sandboxes/{sandboxID}/logs', {
    status: 200,
    query: E2bLogsQuery,
    run: async (call) => {
      const entries = await entriesOf(call, call.query.start ?? 0, call.query.limit);
      const logs = entries.map(({ timestamp, message }) => ({ timestamp, line: message }));
      return { logs, logEntries: entries };
    },
  }),
  route('GET /v2/sandboxes/{sandboxID}/logs', {
    status: 200,
    query: E2bLogsQuery,
    run: async (call) => {
      const { cursor, start, limit, direction } = call.query;
      const logs = await entriesOf(call, cursor ?? start ?? 0, direction === 'backward' ? SCANNED_MAX : limit);
      return { logs: direction === 'backward' ? logs.reverse().slice(0, limit) : logs };
    },
  }),
];

/** Of records since a time in milliseconds, oldest first. */
async function entriesOf({ edge, params }: ControlCall, sinceMs: number, limit: number) {
  const { id } = live(edge, params.sandboxID!);
  const entries: ReturnType<typeof entryOf>[] = [];
  let after = 0;
  for (let scanned = 0; scanned < SCANNED_MAX && entries.length < limit; ) {
    const records = await edge.sandboxes.logs(id, after, PAGE);
    for (const record of records) if (Date.parse(record.at) >= sinceMs) entries.push(entryOf(record));
    if (records.length < PAGE) break;
    scanned += records.length;
    after = records.at(-1)!.seq;
  }
  return entries.slice(0, limit);
}

function entryOf({ at, type, seq, data }: JournalRecord) {
  const fields = Object.fromEntries(
    Object.entries(data).map(([name, value]) => [name, typeof value === 'string' ? value : JSON.stringify(value)]),
  );
  return {
    timestamp: at,
    level: 'info',
    message: `${type} ${JSON.stringify(data)}`,
    fields: { seq: `${seq}`, ...fields },
  };
}
