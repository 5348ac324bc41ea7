import { Readable, type Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGunzip, createZstdDecompress } from 'node:zlib';
import { VivError } from '@vivarium/protocol';

type Form = { name: string; magic: number[]; open: (() => Transform) | null };

/** Told apart by their first bytes; what none of them fits is taken as it is. */
const FORMS: Form[] = [
  { name: 'gzip', magic: [0x1f, 0x8b], open: createGunzip },
  { name: 'zstd', magic: [0x28, 0xb5, 0x2f, 0xfd], open: createZstdDecompress },
  { name: 'xz', magic: [0xfd, 0x37, 0x7a, 0x58, 0x5a], open: null },
  { name: 'bzip2', magic: [0x42, 0x5a, 0x68], open: null },
];

/** The stream, decompressed where it is gzip or zstd. Throws `invalid_image` for other compressions and for damaged data. */
export async function* decompressed(body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const chunks = body[Symbol.asyncIterator]();
  let head = Buffer.alloc(0);
  let ended = false;
  while (head.length < 6 && !ended) {
    const next = await chunks.next();
    if (next.done) ended = true;
    else head = Buffer.concat([head, next.value]);
  }
  const whole = prefixed(head, chunks);
  const form = FORMS.find(({ magic }) => magic.every((byte, index) => head[index] === byte));
  if (!form) return yield* whole;
  if (!form.open)
    throw new VivError('invalid_image', `the archive is compressed with ${form.name}; send a plain tar, gzip or zstd`);
  yield* throughStage(whole, form.open(), form.name);
}

async function* throughStage(
  body: AsyncIterable<Uint8Array>,
  stage: Transform,
  name: string,
): AsyncGenerator<Uint8Array> {
  const fed = pipeline(Readable.from(body, { objectMode: false }), stage);
  fed.catch(() => {});
  try {
    yield* stage;
  } catch (cause) {
    if (cause instanceof VivError) throw cause;
    throw new VivError(
      'invalid_image',
      `the archive is truncated or damaged (${name}: ${(cause as Error).message}); nothing was kept`,
      { cause },
    );
  }
}

async function* prefixed(head: Uint8Array, rest: AsyncIterator<Uint8Array>): AsyncGenerator<Uint8Array> {
  try {
    if (head.length > 0) yield head;
    for (let next = await rest.next(); !next.done; next = await rest.next()) yield next.value;
  } finally {
    await rest.return?.();
  }
}
