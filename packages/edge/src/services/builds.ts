import type { BuildStep } from '@vivarium/builder';
import type { BuildProgress, BuildRequest, PruneReport } from '@vivarium/protocol';
import type { Owner } from '../edge.ts';

export interface BuildService {
  /**
   * Makes an image from a Dockerfile; the context comes as a tar. The last line is `done`; errors are thrown: `dockerfile_invalid`,
   * `build_failed`, `image_not_found`, `image_exists`, `invalid_archive`, `node_disk_full`. Nothing starts before the first `next()`;
   * leaving the loop ends the build. What is left of it are the steps that were complete.
   */
  build(
    request: BuildRequest,
    body: AsyncIterable<Uint8Array>,
    owner: Owner,
    signal: AbortSignal,
  ): AsyncIterable<BuildProgress>;
  /**
   * The same from the steps of a program. `files` are archives (tar, maybe compressed), which lie in the context under their names.
   * Throws as build() does.
   */
  buildSteps(
    request: BuildRequest,
    steps: readonly BuildStep[],
    files: ReadonlyMap<string, () => AsyncIterable<Uint8Array>>,
    owner: Owner,
    signal: AbortSignal,
  ): AsyncIterable<BuildProgress>;
  /** Removes cached steps that nothing uses now. */
  prune(): Promise<PruneReport>;
}
