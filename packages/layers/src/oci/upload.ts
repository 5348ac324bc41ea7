import { createWriteStream } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { VivError } from '@vivarium/protocol';
import { namingBreaks } from '../importers/archive.ts';
import { decompressed } from '../importers/compression.ts';
import { LAYER_LIMITS } from '../limits.ts';
import { requireSpace } from '../space.ts';
import { archiveFiles } from './blobs.ts';
import { LOOK_EVERY_BYTES, Metered } from './metered.ts';
import type { OciSource } from './oci-importer.ts';

/** An OCI layout or docker-save archive that comes as a tar stream (plain, gzip, zstd). It lies on disk until its layers are converted. */
export function uploadedImage(body: AsyncIterable<Uint8Array>): OciSource {
  return {
    async fetch({ directory, converter, report, signal }) {
      const path = join(directory, 'archive');
      const { maxLayerBytes: maxBytes } = LAYER_LIMITS;
      const room = new Metered({
        maxBytes,
        tooMuch: () => new VivError('invalid_image', `the archive is larger than ${maxBytes} bytes`),
        look(bytes) {
          requireSpace(directory, LOOK_EVERY_BYTES);
          if (bytes >= LOOK_EVERY_BYTES) report('upload', `${Math.floor(bytes / 1024 ** 2)} MiB`, { done: bytes });
        },
      });
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
