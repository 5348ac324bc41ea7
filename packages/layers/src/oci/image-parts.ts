import { formatOciRef, parseOciRef } from '@vivarium/protocol';
import type { ImageFiles } from './blobs.ts';
import {
  AnyManifest,
  BlobDigest,
  blobName,
  type Descriptor,
  DockerManifests,
  readBlob,
  readJson,
} from './descriptor.ts';
import type { FileRange } from './file-range.ts';
import { OciConfig } from './oci-config.ts';
import { Refusal } from './refusal.ts';

/** One layer as the archive has it, lowest first in its image. */
export type OciLayer = {
  /** Undefined: it is not there, which is fine as long as nobody needs it. */
  blob: FileRange | undefined;
  digest: string | null;
  sizeBytes: number | null;
  diffId: string;
  createdBy: string;
};

export type ImageParts = { config: OciConfig; layers: OciLayer[] };

const ARCHITECTURES: Record<string, string> = { x64: 'amd64', arm64: 'arm64' };
const ARCHITECTURE = ARCHITECTURES[process.arch] ?? process.arch;
const REF_NAME = 'org.opencontainers.image.ref.name';
const IMAGE_NAME = 'io.containerd.image.name';
const NESTED_MAX = 4;
const NAMED_MAX = 20;

/**
 * Finds the image that a reference (a name or tag that the archive gives it, or a digest) names, for this machine's platform. Without
 * one the archive must have a single image. Throws Refusal that says what there is.
 */
export function imageParts(files: ImageFiles, ref: string | undefined): ImageParts {
  if (files.find('index.json')) return fromLayout(files, ref);
  if (files.find('manifest.json')) return fromDockerArchive(files, ref);
  throw new Refusal(
    'invalid_image',
    'neither index.json nor manifest.json is in it: it is no OCI layout and no docker-save archive',
  );
}

function fromLayout(files: ImageFiles, ref: string | undefined): ImageParts {
  const { manifests = [] } = readJson(files, 'index.json', AnyManifest);
  const named =
    ref === undefined ? manifests : manifests.filter((each) => namesOf(each).some((name) => isSame(name, ref)));
  const descriptor = chosen(
    named,
    ref,
    manifests.flatMap((each) => namesOf(each).slice(0, 1)),
  );
  return fromManifest(files, resolved(files, descriptor, 0));
}

function namesOf({ annotations, digest }: Descriptor): string[] {
  const tag = annotations?.[REF_NAME];
  const name = annotations?.[IMAGE_NAME];
  return [...(name ? [name] : []), ...(tag ? [tag] : []), digest];
}

/** Short and long forms are the same: `me/app` and `docker.io/me/app:latest`. */
function isSame(name: string, ref: string): boolean {
  const [one, other] = [parseOciRef(name), parseOciRef(ref)];
  return name === ref || (one !== null && other !== null && formatOciRef(one) === formatOciRef(other));
}

/** The one for our platform, if several are for different ones. */
function chosen(candidates: readonly Descriptor[], ref: string | undefined, known: readonly string[]): Descriptor {
  const unique = [...new Map(candidates.map((each) => [each.digest, each])).values()];
  const fitting = unique.length > 1 ? unique.filter(isOurs) : unique;
  if (fitting.length === 1) return fitting[0]!;
  const there =
    known.length === 0
      ? 'there is none'
      : `there is ${known.slice(0, NAMED_MAX).join(', ')}${known.length > NAMED_MAX ? ', …' : ''}`;
  if (ref !== undefined && unique.length === 0)
    throw new Refusal('invalid_image', `no image in it is named ${ref}; ${there}`);
  if (fitting.length === 0 && unique.length > 0) throw noPlatform(unique);
  throw new Refusal('invalid_image', `it has ${fitting.length} images; say which one with ref: ${there}`);
}

function isOurs({ platform }: Descriptor): boolean {
  return !platform || (platform.os === 'linux' && platform.architecture === ARCHITECTURE);
}

function noPlatform(descriptors: readonly Descriptor[]): Refusal {
  const platforms = descriptors.map(({ platform }) => `${platform?.os}/${platform?.architecture}`).slice(0, NAMED_MAX);
  return new Refusal('invalid_image', `the image is for ${platforms.join(', ')}; this node is linux/${ARCHITECTURE}`);
}

function resolved(files: ImageFiles, descriptor: Descriptor, depth: number): ImageManifest {
  const manifest = readBlob(files, descriptor.digest, AnyManifest);
  if (manifest.config && manifest.layers) return { config: manifest.config, layers: manifest.layers };
  if (!manifest.manifests)
    throw new Refusal('invalid_image', `blob ${descriptor.digest} is neither an image nor an index of images`);
  if (depth >= NESTED_MAX) throw new Refusal('invalid_image', `indexes of images are nested deeper than ${NESTED_MAX}`);
  return resolved(files, ourDescriptor(manifest.manifests), depth + 1);
}

/** The image of an index that is for this machine's platform. Throws Refusal that says which ones there are. */
export function ourDescriptor(manifests: readonly Descriptor[]): Descriptor {
  const fitting = manifests.find((each) => each.platform && isOurs(each)) ?? manifests.find((each) => !each.platform);
  if (!fitting) throw noPlatform(manifests);
  return fitting;
}

type ImageManifest = { config: Descriptor; layers: Descriptor[] };

function fromManifest(files: ImageFiles, { config: where, layers }: ImageManifest): ImageParts {
  const config = readBlob(files, where.digest, OciConfig);
  requirePlatform(config);
  const diffIds = diffIdsOf(config, layers.length);
  const createdBy = historyOf(config);
  return {
    config,
    layers: layers.map(({ mediaType, digest, size }, i) => {
      if (/nondistributable|foreign/.test(mediaType))
        throw new Refusal(
          'invalid_image',
          `layer ${digest} may not be distributed (${mediaType}): it is not part of the image`,
        );
      if (/encrypted/.test(mediaType))
        throw new Refusal('invalid_image', `layer ${digest} is encrypted (${mediaType})`);
      return {
        blob: files.find(blobName(digest)),
        digest,
        sizeBytes: size,
        diffId: diffIds[i]!,
        createdBy: createdBy(i),
      };
    }),
  };
}

function fromDockerArchive(files: ImageFiles, ref: string | undefined): ImageParts {
  const all = readJson(files, 'manifest.json', DockerManifests);
  const known = all.flatMap(({ RepoTags }) => RepoTags ?? []);
  const named = ref === undefined ? all : all.filter(({ RepoTags }) => RepoTags?.some((tag) => isSame(tag, ref)));
  if (named.length !== 1) {
    const there = known.length > 0 ? `there is ${known.slice(0, NAMED_MAX).join(', ')}` : 'none has a name';
    const what =
      ref === undefined ? `it has ${all.length} images; say which one with ref` : `no image in it is named ${ref}`;
    throw new Refusal('invalid_image', `${what}: ${there}`);
  }
  const { Config, Layers } = named[0]!;
  const digest = `sha256:${/([0-9a-f]{64})(\.json)?$/.exec(Config)?.[1] ?? ''}`;
  const config = readJson(files, Config, OciConfig, BlobDigest.safeParse(digest).success ? digest : null);
  requirePlatform(config);
  const diffIds = diffIdsOf(config, Layers.length);
  const createdBy = historyOf(config);
  return {
    config,
    layers: Layers.map((name, i) => ({
      blob: files.find(name),
      digest: null,
      sizeBytes: null,
      diffId: diffIds[i]!,
      createdBy: createdBy(i),
    })),
  };
}

function requirePlatform({ os, architecture }: OciConfig): void {
  if ((os ?? 'linux') === 'linux' && (architecture ?? ARCHITECTURE) === ARCHITECTURE) return;
  throw new Refusal('invalid_image', `the image is for ${os}/${architecture}; this node is linux/${ARCHITECTURE}`);
}

function diffIdsOf({ rootfs }: OciConfig, layers: number): string[] {
  const { diff_ids: diffIds } = rootfs;
  if (diffIds.length !== layers)
    throw new Refusal('invalid_image', `the image has ${layers} layers, its config names ${diffIds.length}`);
  return diffIds;
}

const CREATED_BY_MAX = 300;

/** What made each layer: entries of the history that have one. */
function historyOf({ history }: OciConfig): (layer: number) => string {
  const made = (history ?? []).filter(({ empty_layer: isEmpty }) => !isEmpty);
  return (layer) => (made[layer]?.created_by || 'oci').slice(0, CREATED_BY_MAX);
}
