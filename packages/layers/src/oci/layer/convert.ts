import { rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { type Written, writeImage } from '../../erofs/image-file.ts';
import { requireFree } from '../../free-space.ts';
import { type FileRange, RangeReader } from '../file-range.ts';
import { Refusal } from '../refusal.ts';
import { type BlobCheck, unpackBlob } from './blob.ts';
import { type LayerBounds, type LayerNotes, readLayer } from './read-layer.ts';

/** One layer as the worker process gets it: plain JSON. */
export type ConvertJob = {
  blob: FileRange;
  check: BlobCheck;
  bounds: LayerBounds;
  /** Where the layers below are mounted, lowest first. */
  lower: readonly string[];
  /** Where the layer is written: a name for a new file. */
  file: string;
};

export type Converted = {
  /** Null: the layer changes nothing. */
  layer: Written | null;
  /** What it is depends on the layers below. */
  usesLower: boolean;
  entries: number;
  notes: LayerNotes;
};

/** Makes a layer of ours out of one of an OCI image. Throws Refusal; errors of the file system as they are (ENOSPC: no room). */
export async function convertLayer({ blob, check, bounds, lower, file }: ConvertJob): Promise<Converted> {
  const spool = join(dirname(file), 'spool');
  try {
    const archive = await unpackBlob(blob, check, spool);
    const reader = new RangeReader(archive);
    try {
      const { root, usesLower, entries, notes } = readLayer(reader, lower, bounds);
      return { layer: root && writeImage(root, file, (bytes) => admit(bytes, check, file)), usesLower, entries, notes };
    } finally {
      reader.close();
    }
  } finally {
    rmSync(spool, { force: true });
  }
}

function admit(bytes: number, { maxBytes, reserveBytes }: BlobCheck, file: string): void {
  if (bytes > maxBytes)
    throw new Refusal('invalid_image', `the layer takes ${bytes} bytes, at most ${maxBytes} are allowed`);
  requireFree(dirname(file), bytes + reserveBytes, 'for the layer');
}
