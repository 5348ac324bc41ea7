import { createHash, type Hash } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { dirname } from 'node:path';
import { Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGunzip, createZstdDecompress } from 'node:zlib';
import { requireFree } from '../../free-space.ts';
import { type FileRange, RangeReader } from '../file-range.ts';
import { LOOK_EVERY_BYTES, Metered } from '../metered.ts';
import { Refusal } from '../refusal.ts';

export type BlobCheck = {
  /** As the manifest says; null: nobody said (docker-save archives). */
  digest: string | null;
  sizeBytes: number | null;
  /** Digest of the archive, decompressed. */
  diffId: string;
  /** Free bytes that must be left, and the most that a layer may unpack to. */
  reserveBytes: number;
  maxBytes: number;
};

const CHUNK_BYTES = 1024 * 1024;
const FORMS = [
  { name: 'gzip', magic: [0x1f, 0x8b], open: createGunzip },
  { name: 'zstd', magic: [0x28, 0xb5, 0x2f, 0xfd], open: createZstdDecompress },
  // A skippable frame, with which zstd:chunked layers may begin.
  { name: 'zstd', magic: [0x50, 0x2a, 0x4d, 0x18], open: createZstdDecompress },
  { name: 'xz', magic: [0xfd, 0x37, 0x7a, 0x58, 0x5a], open: null },
  { name: 'bzip2', magic: [0x42, 0x5a, 0x68], open: null },
];

/**
 * The archive of a layer's blob as a file: the blob itself when it is not compressed, else `spool`, which is written. Size and both digests
 * are checked before anything is read out of it. Throws Refusal, ENOSPC.
 */
export async function unpackBlob(blob: FileRange, check: BlobCheck, spool: string): Promise<FileRange> {
  const { digest, sizeBytes, diffId } = check;
  const name = digest ?? diffId;
  if (sizeBytes !== null && sizeBytes !== blob.size)
    throw new Refusal(
      'invalid_image',
      `blob ${name} has ${blob.size} bytes, its manifest says ${sizeBytes}: it is cut short or damaged`,
    );
  const form = formOf(blob);
  const packed = createHash('sha256');
  if (!form) {
    for await (const chunk of bytesOf(blob)) packed.update(chunk);
    const found = digestOf(packed);
    requireDigest(name, digest, found);
    requireDiffId(name, diffId, found);
    return blob;
  }
  if (!form.open)
    throw new Refusal('invalid_image', `blob ${name} is compressed with ${form.name}; layers are plain, gzip or zstd`);
  const plain = createHash('sha256');
  const { maxBytes, reserveBytes } = check;
  const room = new Metered(
    {
      maxBytes,
      tooMuch: () => new Refusal('invalid_image', `a layer unpacks to more than ${maxBytes} bytes`),
      look: () => requireFree(dirname(spool), reserveBytes + LOOK_EVERY_BYTES, 'to unpack the layer'),
    },
    CHUNK_BYTES,
  );
  try {
    await pipeline(
      bytesOf(blob),
      new Hashing(packed),
      form.open(),
      new Hashing(plain),
      room,
      createWriteStream(spool, { flags: 'wx', mode: 0o600, highWaterMark: CHUNK_BYTES }),
    );
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (error instanceof Refusal || code === 'ENOSPC' || code === 'EDQUOT') throw error;
    throw new Refusal('invalid_image', `blob ${name} is damaged: ${form.name}: ${(error as Error).message}`);
  }
  requireDigest(name, digest, digestOf(packed));
  requireDiffId(name, diffId, digestOf(plain));
  return { path: spool, offset: 0, size: room.bytes };
}

function formOf(blob: FileRange): (typeof FORMS)[number] | undefined {
  const reader = new RangeReader(blob);
  try {
    const head = Buffer.alloc(6);
    reader.read(head, 0);
    return FORMS.find(({ magic }) => magic.every((byte, i) => head[i] === byte));
  } finally {
    reader.close();
  }
}

function bytesOf({ path, offset, size }: FileRange) {
  if (size === 0) throw new Refusal('invalid_image', 'a layer’s blob is empty');
  return createReadStream(path, { start: offset, end: offset + size - 1, highWaterMark: CHUNK_BYTES });
}

function digestOf(hash: Hash): string {
  return `sha256:${hash.digest('hex')}`;
}

function requireDigest(name: string, wanted: string | null, found: string): void {
  if (wanted !== null && wanted !== found)
    throw new Refusal('invalid_image', `blob ${name} is not what its name says: its digest is ${found}`);
}

function requireDiffId(name: string, wanted: string, found: string): void {
  if (wanted !== found)
    throw new Refusal(
      'invalid_image',
      `blob ${name} unpacks to an archive with the digest ${found}; the image's config says ${wanted}`,
    );
}

class Hashing extends Transform {
  readonly #hash: Hash;

  constructor(hash: Hash) {
    super({ highWaterMark: CHUNK_BYTES });
    this.#hash = hash;
  }

  override _transform(chunk: Buffer, _encoding: string, done: (error: null, chunk: Buffer) => void): void {
    this.#hash.update(chunk);
    done(null, chunk);
  }
}
