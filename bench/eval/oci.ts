import { createHash } from 'node:crypto';
import {
  createReadStream,
  createWriteStream,
  mkdirSync,
  mkdtempSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import type { Vivarium } from '@vivarium/sdk';
import { packTree } from '@vivarium/sdk/node';
import { quantile, timed } from '../node/samples.ts';

/** A layer each: most of a Debian with Python and a compiler. */
const TREES = ['/usr/lib', '/usr/bin', '/usr/share'];
const ROUNDS = 3;

export type OciBench = { import_oci_mib_s: number; import_oci_mib: number };

/**
 * Imports an OCI image of gzip layers that are made of the base image's own files: mebibytes of archives, uncompressed, per second of
 * the call from the client's side. None of its layers is known before. The image is removed.
 */
export async function ociBench(viv: Vivarium, base: string): Promise<OciBench> {
  const directory = mkdtempSync(join(tmpdir(), 'viv-bench-oci-'));
  const name = `bench/oci-${Date.now().toString(36)}@1`;
  try {
    const bytes = await writeLayout(viv, base, directory);
    const rates: number[] = [];
    for (let round = 0; round < ROUNDS; round++) {
      const { ms } = await timed(() => viv.images.importOci(name, packTree(directory)));
      rates.push(bytes / 1024 ** 2 / (ms / 1000));
      await viv.images.remove(name);
    }
    return { import_oci_mib_s: quantile(rates, 0.5), import_oci_mib: bytes / 1024 ** 2 };
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

type Blob = { digest: string; size: number };

/** Returns the bytes of its layers' archives. */
async function writeLayout(viv: Vivarium, base: string, directory: string): Promise<number> {
  mkdirSync(join(directory, 'blobs/sha256'), { recursive: true });
  const layers: (Blob & { diffId: string; bytes: number })[] = [];
  await using sandbox = await viv.sandboxes.create({ image: base });
  for (const tree of TREES) layers.push(await writeLayer(await sandbox.files.download(tree), directory));
  const json = (value: unknown): Blob => {
    const text = JSON.stringify(value);
    const hex = createHash('sha256').update(text).digest('hex');
    writeFileSync(join(directory, 'blobs/sha256', hex), text);
    return { digest: `sha256:${hex}`, size: text.length };
  };
  const type = 'application/vnd.oci.image';
  const config = json({
    os: 'linux',
    architecture: 'amd64',
    rootfs: { type: 'layers', diff_ids: layers.map(({ diffId }) => diffId) },
  });
  const manifest = json({
    schemaVersion: 2,
    config: { mediaType: `${type}.config.v1+json`, ...config },
    layers: layers.map(({ digest, size }) => ({ mediaType: `${type}.layer.v1.tar+gzip`, digest, size })),
  });
  writeFileSync(join(directory, 'oci-layout'), '{"imageLayoutVersion":"1.0.0"}');
  const index = { schemaVersion: 2, manifests: [{ mediaType: `${type}.manifest.v1+json`, ...manifest }] };
  writeFileSync(join(directory, 'index.json'), JSON.stringify(index));
  return layers.reduce((sum, { bytes }) => sum + bytes, 0);
}

async function writeLayer(tar: ReadableStream<Uint8Array>, directory: string) {
  const plain = createHash('sha256');
  let bytes = 0;
  const path = join(directory, 'layer');
  async function* counted(source: AsyncIterable<Uint8Array>) {
    for await (const chunk of source) {
      plain.update(chunk);
      bytes += chunk.length;
      yield chunk;
    }
  }
  await pipeline(Readable.fromWeb(tar as never), counted, createGzip(), createWriteStream(path));
  const packed = createHash('sha256');
  for await (const chunk of createReadStream(path)) packed.update(chunk as Buffer);
  const hex = packed.digest('hex');
  const { size } = statSync(path);
  renameSync(path, join(directory, 'blobs/sha256', hex));
  return { digest: `sha256:${hex}`, size, diffId: `sha256:${plain.digest('hex')}`, bytes };
}
