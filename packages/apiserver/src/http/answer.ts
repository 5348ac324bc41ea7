import type { ServerResponse } from 'node:http';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { VivError } from '@vivarium/protocol';
import { drain } from './drain.ts';
import { drained } from './drained.ts';

/** Lines are gathered up to this size before they are written. */
const BATCH_BYTES = 65_536;

/** A response that is more than a result with the route's status. */
export class Answer {
  readonly send: (res: ServerResponse) => void | Promise<void>;

  constructor(send: (res: ServerResponse) => void | Promise<void>) {
    this.send = send;
  }
}

/** Any JSON value, in one write. */
export function sendJson(
  res: ServerResponse,
  status: number,
  value: unknown,
  headers: Record<string, string> = {},
): void {
  const text = JSON.stringify(value);
  res.writeHead(status, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text), ...headers });
  res.end(text);
}

/** A JSON answer with a status other than the route's. */
export function withStatus(status: number, value: unknown): Answer {
  return new Answer((res) => sendJson(res, status, value));
}

/**
 * One JSON value per line, taken from the source only as fast as the client reads. What goes wrong before the first line is
 * an ordinary error; later, `failed` makes the last line.
 */
export function ndjson<T>(
  items: AsyncIterable<T>,
  failed: (error: VivError) => unknown = (error) => error.toBody(),
): Answer {
  return new Answer(async (res) => {
    const iterator = items[Symbol.asyncIterator]();
    try {
      const first = await iterator.next();
      res.writeHead(200, { 'content-type': 'application/x-ndjson' });
      await writeLines(res, first, iterator, failed);
    } finally {
      await iterator.return?.();
    }
    if (res.destroyed) return;
    res.end();
    // A request with a body may be answered before all of it came: an import that failed.
    if (!res.req.complete) drain(res.req);
  });
}

async function writeLines<T>(
  res: ServerResponse,
  first: IteratorResult<T>,
  iterator: AsyncIterator<T>,
  failed: (error: VivError) => unknown,
): Promise<void> {
  const lines = new LineBuffer(res);
  try {
    for (let step = first; !step.done && !res.destroyed; step = await iterator.next()) {
      lines.add(step.value);
      if (res.writableNeedDrain) await drained(res);
    }
  } catch (error) {
    lines.add(failed(VivError.from(error)));
  }
  lines.flush();
}

/** Many lines to a write, but none waits longer than until the source pauses. */
class LineBuffer {
  readonly #res: ServerResponse;
  #text = '';

  constructor(res: ServerResponse) {
    this.#res = res;
  }

  add(value: unknown): void {
    if (this.#text === '') setImmediate(() => this.flush());
    this.#text += `${JSON.stringify(value)}\n`;
    if (this.#text.length >= BATCH_BYTES) this.flush();
  }

  flush(): void {
    if (this.#text !== '' && !this.#res.destroyed) this.#res.write(this.#text);
    this.#text = '';
  }
}

/**
 * A byte stream. A source that breaks off breaks the connection, so that nobody takes a part for the whole. With a
 * `content-length` exactly that many bytes go out: a file may grow while it is read, and what is in it is the agent's.
 */
export function bytes(stream: Readable, status: number, headers: Record<string, string | number>): Answer {
  const length = headers['content-length'];
  return new Answer(async (res) => {
    writeHead(stream, res, status, headers);
    if (length === 0) {
      stream.destroy();
      res.end();
    } else if (typeof length === 'number') await sendExactly(stream, res, length);
    else await pipeline(stream, res);
  });
}

/** An answer that was given already, as to the clients of a sandbox that is paused, leaves the stream without a reader. */
export function writeHead(
  stream: Readable,
  res: ServerResponse,
  status: number,
  headers: Record<string, string | number>,
): void {
  try {
    res.writeHead(status, headers);
  } catch (error) {
    stream.destroy();
    throw error;
  }
}

/** By hand: an async generator in a pipeline costs three times as much CPU per byte. */
function sendExactly(stream: Readable, res: ServerResponse, length: number): Promise<void> {
  return new Promise((resolve, reject) => {
    let left = length;
    const fail = (error: Error) => {
      stream.destroy();
      reject(error);
    };
    stream.on('data', (chunk: Buffer) => {
      if (left === 0) return;
      const part = chunk.length > left ? chunk.subarray(0, left) : chunk;
      left -= part.length;
      if (left === 0) {
        res.end(part);
        stream.destroy();
      } else if (!res.write(part)) {
        stream.pause();
      }
    });
    res.on('drain', () => stream.resume());
    stream.on('end', () => left > 0 && fail(new VivError('connection_lost', `the source ended ${left} bytes early`)));
    stream.on('error', fail);
    if (res.destroyed) return fail(new VivError('connection_lost', 'the client went away'));
    res.on('close', () =>
      res.writableFinished ? resolve() : fail(new VivError('connection_lost', 'the client went away')),
    );
  });
}
