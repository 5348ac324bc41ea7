import { createHash } from 'node:crypto';
import { canonicalJson } from '@vivarium/core';
import { Digest, type Image, ImageConfig, ImageName, Layer, Lineage } from '@vivarium/protocol';
import { z } from 'zod';
import type { SigningKey } from './signing-key.ts';

/** `erofs`: one whole, uncompressed EROFS file, digest over its bytes. Other forms (metadata and data apart) will get other names. */
const LayerRecord = Layer.extend({
  format: z.literal('erofs'),
  /** The layer of an OCI image that it was made of, so that no layer is converted twice. */
  oci: z
    .object({
      /** Digest of its archive, uncompressed. */
      diffId: Digest,
      /** Of it and all below it (image-spec, config.md): the layer is right over those only. Null: over any. */
      chainId: Digest.nullable(),
      /** Digest and size of its blob, as a registry gives it. */
      blob: z.object({ digest: Digest, sizeBytes: z.number() }).nullable(),
    })
    .optional(),
});

/** What is known of an image, as written down and signed. Layers lowest first. */
export const Manifest = z.strictObject({
  format: z.literal('vivarium.image/1'),
  name: ImageName,
  layers: z.array(LayerRecord).min(1),
  config: ImageConfig,
  createdAt: z.string(),
  parent: ImageName.nullable(),
  lineage: Lineage.optional(),
  /** Later file times of a pack are set to this; default: `createdAt`. */
  epoch: z.string().optional(),
});
export type Manifest = z.infer<typeof Manifest>;
export type LayerRecord = z.infer<typeof LayerRecord>;

const Envelope = z.strictObject({ manifest: Manifest, digest: Digest, keyId: z.string(), signature: z.string() });

/** The text of a manifest file: the manifest, its digest and our signature over the digest (and through it over every layer's). */
export function sealManifest(manifest: Manifest, key: SigningKey): string {
  const digest = manifestDigest(manifest);
  return `${JSON.stringify({ manifest, digest, keyId: key.id, signature: key.sign(signedText(digest)) }, null, 1)}\n`;
}

/** Reads a manifest file's text. Throws an Error that says what is wrong with it: form, digest, signature, or another node's key. */
export function unsealManifest(text: string, key: SigningKey): Manifest {
  const { manifest, digest, keyId, signature } = Envelope.parse(JSON.parse(text));
  if (keyId !== key.id) throw new Error(`signed by key ${keyId}, which is not this node's (${key.id})`);
  if (digest !== manifestDigest(manifest)) throw new Error('the manifest does not match its digest');
  if (!key.verify(signedText(digest), signature)) throw new Error('the signature is wrong');
  return manifest;
}

/** `sha256:<hex>` over the manifest in canonical form (keys sorted, no blanks). */
export function manifestDigest(manifest: Manifest): string {
  return `sha256:${createHash('sha256').update(canonicalJson(manifest)).digest('hex')}`;
}

/** The manifest as the API shows it. */
export function toImage(manifest: Manifest): Image {
  const layers = manifest.layers.map(({ digest, sizeBytes, createdBy, createdAt }) => ({
    digest,
    sizeBytes,
    createdBy,
    createdAt,
  }));
  const { name, config, createdAt, parent, lineage } = manifest;
  const sizeBytes = layers.reduce((sum, layer) => sum + layer.sizeBytes, 0);
  return {
    name,
    digest: manifestDigest(manifest),
    layers,
    config,
    sizeBytes,
    createdAt,
    parent,
    ...(lineage && { lineage }),
  };
}

/** A file name for an image name: percent-encoded, so that `/` and `@` are safe. */
export function manifestFileName(name: string): string {
  return `${encodeURIComponent(name)}.json`;
}

function signedText(digest: string): string {
  return `vivarium image manifest\n${digest}\n`;
}
