import { createWriteStream } from 'node:fs';
import { join } from 'node:path';
import { Readable, Transform, type TransformCallback } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { VivError } from '@vivarium/protocol';
import { namingBreaks } from '../importers/archive.ts';
import { decompressed } from '../importers/compression.ts';
import { LAYER_LIMITS } from '../limits.ts';
import type { Report } from '../progress.ts';
import { requireSpace } from '../space.ts';
import { archiveFiles } from './blobs.ts';
import type { OciSource } from './oci-importer.ts';

/** Between two looks at the free space, and two lines of progress. */
const LOOK_EVERY = 64 * 1024 ** 2;

/** An OCI layout or docker-save archive that comes as a tar stream (plain, gzip, zstd). It lies on disk until its layers are converted. */
export function uploadedImage(body: AsyncIterable<Uint8Array>): OciSource {
  return {
    async fetch({ directory, converter, report, signal }) {
      const path = join(directory, 'archive');
      const room = new Room(directory, report);
      await pipeline(
        Readable.from(decompressed(namingBreaks(body)), { objectMode: false }),
        room,
        createWriteStream(path, { flags: 'wx', mode: 0o600 }),
        { signal },
      );
      if (room.bytes === 0) throw new VivError('invalid_image', 'the archive is empty');
      return archiveFiles(await converter.list(path, signal));
    },
  };
}

/** Counts what passes, and ends it when it is too much. */
class Room extends Transform {
  bytes = 0;
  readonly #directory: string;
  readonly #report: Report;
  #nextLook = 0;

  constructor(directory: string, report: Report) {
    super();
    this.#directory = directory;
    this.#report = report;
  }

  override _transform(chunk: Uint8Array, _encoding: string, done: TransformCallback): void {
    this.bytes += chunk.length;
    try {
      if (this.bytes > LAYER_LIMITS.maxLayerBytes)
        throw new VivError('invalid_image', `the archive is larger than ${LAYER_LIMITS.maxLayerBytes} bytes`);
      if (this.bytes >= this.#nextLook) {
        requireSpace(this.#directory, LOOK_EVERY);
        if (this.#nextLook > 0)
          this.#report('upload', `${Math.floor(this.bytes / 1024 ** 2)} MiB`, { done: this.bytes });
        this.#nextLook = this.bytes + LOOK_EVERY;
      }
      done(null, chunk);
    } catch (error) {
      done(error as Error);
    }
  }
}
