import { createHash } from 'node:crypto';
import { gunzipSync, gzipSync, zstdCompressSync, zstdDecompressSync } from 'node:zlib';
import { type ArchiveEntry, archiveOf } from './archives.ts';

export type OciSpec = {
  /** Archives as they lie in the image: plain, or packed by `gzip` or `zstd`. */
  layers: Buffer[];
  config?: Record<string, unknown>;
  tag?: string;
  /** Changes things before they are written down, to lie about them. */
  blobs?: (blobs: Map<string, Buffer>, layers: string[]) => void;
  wholeConfig?: (config: Record<string, unknown>) => void;
  manifest?: (manifest: { layers: Record<string, unknown>[] }) => void;
  index?: (index: { manifests: Record<string, unknown>[] }) => void;
};

export const digestOf = (bytes: Buffer) => `sha256:${createHash('sha256').update(bytes).digest('hex')}`;
export const gzip = (bytes: Buffer) => gzipSync(bytes, { level: 1 });
export const zstd = (bytes: Buffer) => zstdCompressSync(bytes);

/** A tar of an OCI layout with one image. */
export async function ociArchive(spec: OciSpec): Promise<Buffer> {
  const blobs = new Map<string, Buffer>();
  const add = (bytes: Buffer, mediaType: string) => {
    blobs.set(digestOf(bytes), bytes);
    return { mediaType, digest: digestOf(bytes), size: bytes.length } as Record<string, unknown>;
  };
  const layers = spec.layers.map((bytes) => add(bytes, mediaType(bytes)));
  const config: Record<string, unknown> = {
    os: 'linux',
    architecture: 'amd64',
    rootfs: { type: 'layers', diff_ids: spec.layers.map((bytes) => digestOf(plain(bytes))) },
    config: spec.config ?? {},
  };
  spec.wholeConfig?.(config);
  const manifest = {
    schemaVersion: 2,
    config: add(Buffer.from(JSON.stringify(config)), 'application/vnd.oci.image.config.v1+json'),
    layers,
  };
  spec.manifest?.(manifest);
  const described = add(Buffer.from(JSON.stringify(manifest)), 'application/vnd.oci.image.manifest.v1+json');
  const index = {
    schemaVersion: 2,
    manifests: [{ ...described, annotations: { 'org.opencontainers.image.ref.name': spec.tag ?? 'latest' } }],
  };
  spec.index?.(index);
  spec.blobs?.(
    blobs,
    layers.map(({ digest }) => digest as string),
  );
  return archiveOf([
    { name: 'oci-layout', body: '{"imageLayoutVersion":"1.0.0"}' },
    { name: 'index.json', body: JSON.stringify(index) },
    ...[...blobs].map(([digest, body]) => ({ name: `blobs/${digest.replace(':', '/')}`, body })),
  ]);
}

/** One image of one docker-save archive, in the old form: directories of layers, some of them links to others. */
export async function dockerArchive(layers: Buffer[], tags: string[], config: object = {}): Promise<Buffer> {
  const json = Buffer.from(
    JSON.stringify({
      os: 'linux',
      architecture: 'amd64',
      rootfs: { diff_ids: layers.map(digestOf) },
      config,
    }),
  );
  const name = `${digestOf(json).slice('sha256:'.length)}.json`;
  const entries = layers.flatMap((body, i): ArchiveEntry[] => {
    const first = layers.findIndex((other) => other.equals(body));
    return first === i
      ? [{ name: `layer${i}/layer.tar`, body }]
      : [{ name: `layer${i}/layer.tar`, type: 'symlink' as const, linkname: `../layer${first}/layer.tar` }];
  });
  const manifest = [{ Config: name, RepoTags: tags, Layers: layers.map((_, i) => `layer${i}/layer.tar`) }];
  return archiveOf([...entries, { name, body: json }, { name: 'manifest.json', body: JSON.stringify(manifest) }]);
}

function mediaType(bytes: Buffer): string {
  const kind = bytes[0] === 0x1f ? '+gzip' : bytes[0] === 0x28 ? '+zstd' : '';
  return `application/vnd.oci.image.layer.v1.tar${kind}`;
}

function plain(bytes: Buffer): Buffer {
  if (bytes[0] === 0x1f) return gunzipSync(bytes);
  return bytes[0] === 0x28 && bytes[1] === 0xb5 ? zstdDecompressSync(bytes) : bytes;
}
