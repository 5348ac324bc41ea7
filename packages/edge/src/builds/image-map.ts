import { join } from 'node:path';
import { readSettings } from '@vivarium/layers/settings-file.ts';
import { formatOciRef, ImageMap, parseOciRef } from '@vivarium/protocol';
import { pathPattern } from '@vivarium/protocol/path-pattern.ts';

const FILE = 'image-map.json';
const HINT = 'It is one JSON object: {"python:3.12-slim": "base/debian@12", "debian:*": "base/debian@12"}.';

/** The node's own map: what FROM names → an image of this node (`STATE/image-map.json`, an object). Read anew for each build. */
export function readImageMap(stateDir: string): ImageMap {
  return readSettings(join(stateDir, FILE), ImageMap, HINT) ?? {};
}

/** The image that maps (the first one wins) give a reference. Short and long forms are the same: `debian`, `docker.io/library/debian:latest`. Keys may have `*`. */
export function mapped(reference: string, ...maps: readonly ImageMap[]): string | undefined {
  const wanted = fullReference(reference);
  for (const map of maps) {
    const exact = Object.hasOwn(map, reference) ? map[reference] : undefined;
    if (exact !== undefined) return exact;
    for (const [key, image] of Object.entries(map)) {
      if (fullReference(key) === wanted) return image;
      if (key.includes('*') && pathPattern(fullReference(key))?.matches(wanted)) return image;
    }
  }
  return undefined;
}

/** With registry, namespace and tag. A key with `*` is no reference itself: its parts are looked for by hand. */
function fullReference(reference: string): string {
  const ref = parseOciRef(reference);
  if (ref) return formatOciRef(ref);
  const [path, tag] = /^(.*?)(:[^/]*)?$/.exec(reference.replace(/^docker:\/\//, ''))!.slice(1);
  const hasRegistry = /^[^/]*[.:][^/]*\/|^localhost\//.test(path!);
  const full = hasRegistry ? path! : `docker.io/${path!.includes('/') ? path : `library/${path}`}`;
  return `${full}${tag ?? ':latest'}`;
}
