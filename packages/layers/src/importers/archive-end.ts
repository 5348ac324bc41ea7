import { Transform, type TransformCallback } from 'node:stream';
import { VivError } from '@vivarium/protocol';

const BLOCK_BYTES = 512;

/**
 * Passes a tar stream through, counts it and remembers how it ended: GNU tar takes an archive that was cut between two entries for a
 * complete one, so the zero block that ends every archive is looked for here. Past maxBytes the stream fails with `invalid_image`.
 */
export class ArchiveEnd extends Transform {
  readonly #maxBytes: number;
  #bytes = 0;
  /** Zero bytes at the end so far. */
  #zeros = 0;

  constructor(maxBytes: number) {
    super();
    this.#maxBytes = maxBytes;
  }

  override _transform(chunk: Uint8Array, _encoding: string, done: TransformCallback): void {
    this.#bytes += chunk.length;
    const trailing = trailingZeros(chunk);
    this.#zeros = trailing === chunk.length ? this.#zeros + trailing : trailing;
    const tooLong = this.#bytes > this.#maxBytes;
    done(
      tooLong ? new VivError('invalid_image', `the archive unpacks to more than ${this.#maxBytes} bytes`) : null,
      chunk,
    );
  }

  /** Throws `invalid_image` unless what passed was whole blocks with an end-of-archive block (POSIX pax, "ustar interchange format"). */
  requireComplete(): void {
    if (this.#bytes % BLOCK_BYTES === 0 && this.#zeros >= BLOCK_BYTES) return;
    throw new VivError(
      'invalid_image',
      `the archive is truncated: it ends after ${this.#bytes} bytes without an end-of-archive block; nothing was kept`,
    );
  }
}

/** One block's worth is all that matters. */
function trailingZeros(chunk: Uint8Array): number {
  let count = 0;
  while (count < chunk.length && count < BLOCK_BYTES && chunk[chunk.length - 1 - count] === 0) count++;
  return count;
}
