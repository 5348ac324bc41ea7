/** What can be written: text goes as UTF-8. */
export type Bytes = string | Uint8Array | ArrayBuffer;
export type ByteStream = AsyncIterable<Uint8Array | string> | ReadableStream<Uint8Array>;

const encoder = new TextEncoder();
const decoder = new TextDecoder();

export function toBytes(data: Bytes): Uint8Array {
  if (typeof data === 'string') return encoder.encode(data);
  return data instanceof Uint8Array ? data : new Uint8Array(data);
}

/** Decodes UTF-8; bytes that are none become U+FFFD. */
export function toText(bytes: Uint8Array): string {
  return decoder.decode(bytes);
}

export function concat(chunks: readonly Uint8Array[]): Uint8Array {
  if (chunks.length === 1) return chunks[0]!;
  let length = 0;
  for (const chunk of chunks) length += chunk.length;
  const joined = new Uint8Array(length);
  let at = 0;
  for (const chunk of chunks) {
    joined.set(chunk, at);
    at += chunk.length;
  }
  return joined;
}

/** Base64 without Buffer, in pieces so that large inputs do not overflow the argument list. */
export function toBase64(bytes: Uint8Array): string {
  let binary = '';
  for (let at = 0; at < bytes.length; at += 8192) binary += String.fromCharCode(...bytes.subarray(at, at + 8192));
  return btoa(binary);
}

export function fromBase64(text: string): Uint8Array {
  return Uint8Array.from(atob(text), (char) => char.charCodeAt(0));
}

export function isByteStream(data: unknown): data is ByteStream {
  return typeof data === 'object' && data !== null && (Symbol.asyncIterator in data || 'getReader' in data);
}

/** Iterates a ReadableStream also where the platform (Safari) can't, and cancels it when the loop ends early. */
export async function* iterate(stream: ByteStream): AsyncGenerator<Uint8Array> {
  if (Symbol.asyncIterator in stream) {
    for await (const chunk of stream as AsyncIterable<Uint8Array | string>) yield toBytes(chunk);
    return;
  }
  const reader = (stream as ReadableStream<Uint8Array>).getReader();
  let finished = false;
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) break;
      yield value;
    }
    finished = true;
  } finally {
    if (!finished) await reader.cancel().catch(() => {});
  }
}

/** Pulls from an iterator only when the reader asks: back-pressure passes through. */
export function toReadable(source: AsyncIterable<Uint8Array | string>): ReadableStream<Uint8Array> {
  const iterator = source[Symbol.asyncIterator]();
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const { done, value } = await iterator.next();
        if (done) controller.close();
        else controller.enqueue(toBytes(value));
      },
      async cancel() {
        await iterator.return?.();
      },
    },
    { highWaterMark: 0 },
  );
}
