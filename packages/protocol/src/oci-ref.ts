import { isImageName } from './image-name.ts';

/** An image in a registry (github.com/distribution/reference): host, repository, and tag or digest. */
export type OciRef = { registry: string; repository: string; tag: string | null; digest: string | null };

const HOST =
  /^(?:[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?)(?:\.[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?)*(?::[0-9]{1,5})?$/;
const PART = /^[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*$/;
const TAG = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,127}$/;
const DIGEST = /^sha256:[0-9a-f]{64}$/;
const SCHEME = 'docker://';
/** Characters of a reference. */
export const REF_MAX = 400;

/**
 * Reads `docker://HOST/PATH[:TAG|@DIGEST]`, the same without the scheme, or a short form (`python:3.12`, of docker.io). Without tag and
 * digest it is `latest`; with both the digest counts. Null: it is none.
 */
export function parseOciRef(text: string): OciRef | null {
  if (text.length > REF_MAX) return null;
  const plain = text.startsWith(SCHEME) ? text.slice(SCHEME.length) : text;
  const [named, digest = null, ...rest] = plain.split('@');
  if (rest.length > 0 || (digest !== null && !DIGEST.test(digest))) return null;
  const match = /^(.*?)(?::([^/:]*))?$/.exec(named!)!;
  const tag = match[2] ?? null;
  if (tag !== null && !TAG.test(tag)) return null;
  const { registry, repository } = located(match[1]!);
  if (!HOST.test(registry) || !repository.split('/').every((part) => PART.test(part))) return null;
  return { registry: registry.toLowerCase(), repository, tag: digest === null ? (tag ?? 'latest') : null, digest };
}

/** The first part is a host when it looks like one; else the image is Docker Hub's. */
function located(name: string): { registry: string; repository: string } {
  const slash = name.indexOf('/');
  const first = slash < 0 ? '' : name.slice(0, slash);
  if (/[.:]/.test(first) || first === 'localhost') return { registry: first, repository: name.slice(slash + 1) };
  return { registry: 'docker.io', repository: slash < 0 ? `library/${name}` : name };
}

/** In full, as skopeo takes it behind `docker://`. */
export function formatOciRef({ registry, repository, tag, digest }: OciRef): string {
  return `${registry}/${repository}${digest === null ? `:${tag}` : `@${digest}`}`;
}

/** The name an image has on a node that brought it: `oci/docker.io/library/python@3.12`. Null: it would be too long. */
export function ociImageName({ registry, repository, tag, digest }: OciRef): string | null {
  const version = digest === null ? tag : digest.replace(':', '-');
  const name = `oci/${registry.replace(':', '_')}/${repository}@${version}`;
  return isImageName(name) ? name : null;
}
