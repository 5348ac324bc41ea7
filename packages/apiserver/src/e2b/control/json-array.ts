import type { ServerResponse } from 'node:http';
import { Answer } from '../../http/answer.ts';
import { drained } from '../../http/drained.ts';

/** Items are gathered up to this size before they are written. */
const BATCH_BYTES = 65_536;

/**
 * One JSON array, written as its items come: however many there are, only a batch of them is in memory, and a slow client makes the
 * source wait. What goes wrong before the first item is an ordinary error; later it breaks the connection.
 */
export function jsonArray<T>(items: AsyncIterable<T>, view: (item: T) => unknown): Answer {
  return new Answer(async (res) => {
    const iterator = items[Symbol.asyncIterator]();
    try {
      let step = await iterator.next();
      res.writeHead(200, { 'content-type': 'application/json' });
      let text = '[';
      for (let comma = ''; !step.done && !res.destroyed; step = await iterator.next()) {
        text += comma + JSON.stringify(view(step.value));
        comma = ',';
        if (text.length < BATCH_BYTES) continue;
        await write(res, text);
        text = '';
      }
      if (!res.destroyed) res.end(`${text}]`);
    } finally {
      await iterator.return?.();
    }
  });
}

async function write(res: ServerResponse, text: string): Promise<void> {
  if (!res.write(text) && !res.destroyed) await drained(res);
}
